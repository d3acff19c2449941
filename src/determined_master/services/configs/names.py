"""Names for things that their users did not name."""

from determined_master import entropy

ADVERBS = ("boldly", "brightly", "calmly", "deeply", "eagerly", "gently", "gladly", "keenly")
ADJECTIVES = ("amber", "brave", "clever", "fresh", "golden", "lively", "patient", "swift")
ANIMALS = ("badger", "crane", "falcon", "heron", "lynx", "marten", "otter", "wren")


def pet_name() -> str:
    """Three words, such as `calmly-golden-otter`; not unique."""
    words = (ADVERBS, ADJECTIVES, ANIMALS)
    return "-".join(chosen[entropy.choice_index(len(chosen))] for chosen in words)
