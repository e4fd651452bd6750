"""The report of a run: one page that needs nothing else, and a picture of every chart."""

from .subject import subject as subject
from .write import write_report as write_report
