"""Dialogues in which an answer needs what was said before."""

import numpy as np

from ..splits import draw_in

NAMES = "ann ben cleo dan eve finn gus hana ida jon kim leo mia noa otto pia".split()
THINGS = "apples books cats dancing eggs films games hats ink jazz kites lemons maps nuts".split()
QUESTIONS = {
    "what is my name": "your name is {name}",
    "who am i": "you are {name}",
    "what do i like": "you like {thing}",
    "do you know what i like": "yes , you like {thing}",
    "how are you": "i am well , {name}",
    "what should we talk about": "let us talk about {thing}",
}
GREETINGS = ("hello , i am {name}", "hi , my name is {name}", "good morning , {name} here")


def draw_dialogues(rng: np.random.Generator, count: int, part: str) -> list[list[str]]:
    """Dialogues of six or eight turns; those of the second speaker follow from what was said.

    The combinations of name and thing of `"train"`, `"valid"` and `"test"` are disjoint.

    Example:
        >>> turns = draw_dialogues(np.random.default_rng(0), 1, "train")[0]
        >>> turns[:2]
        ['hello , i am ida', 'hello ida']
    """
    return [_dialogue(rng, part) for _ in range(count)]


def _dialogue(rng: np.random.Generator, part: str) -> list[str]:
    both = draw_in(part, lambda: f"{rng.choice(NAMES)} {rng.choice(THINGS)}")
    name, thing = both.split()
    turns = [str(rng.choice(GREETINGS)), "hello {name}", "i like {thing}", "{thing} , how nice"]
    for question in rng.choice([*QUESTIONS], rng.integers(1, 3), replace=False):
        turns += [str(question), QUESTIONS[str(question)]]
    return [turn.format(name=name, thing=thing) for turn in turns]
