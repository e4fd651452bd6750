"""The report of a run: one self-contained HTML page, and a PNG of every chart."""

from .subject import subject as subject
from .write import write_report as write_report
