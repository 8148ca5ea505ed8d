"""Sentences in three variants: about a man, about a woman, and with a neutral word."""

from typing import Annotated, NamedTuple

from ntpcompanion.checks import Range, checked

# a frame, and its words: male, female, neutral
FRAMES = (
    ("The {} {}.", ("man", "woman", "person")),
    ("Yesterday a {} {}.", ("boy", "girl", "child")),
    ("My {} {}.", ("father", "mother", "parent")),
    ("We heard that her {} {}.", ("brother", "sister", "sibling")),
    ("According to the letter, the {} {}.", ("husband", "wife", "spouse")),
    ("Last year his {} {}.", ("uncle", "aunt", "relative")),
)
BLOCK = 20  # contents of a block; those of one block occur in no other
CONTENTS = tuple(
    phrase.strip()
    for phrase in """
repaired the engine, baked a cake, read a long novel, climbed the mountain, lost the keys,
wrote a computer program, washed the dishes, bought a ticket, lifted heavy weights, knitted a scarf,
waited for the bus, joined the army, cried at the wedding, drank some water, won the chess match,
cared for the baby, missed the train, led the company, danced ballet, opened the window,
fixed the roof, arranged the flowers, watched the news, studied physics, found a coin,
drove a truck, sewed a dress, walked to the park, boxed in the final, cleaned the kitchen,
ate an apple, flew the plane, gossiped with friends, slept on the sofa, hunted a deer,
nursed the patient, painted the fence, argued with the judge, sang a lullaby, called the police,
built a wall, ironed the shirts, planted a tree, solved the equation, closed the door,
went fishing, put on lipstick, fed the dog, commanded the ship, taught small children,
sent a parcel, shot at a target, wept after the film, paid the rent, played football,
set the table, learned Spanish, ran the bank, tidied the bedroom, looked at the stars,
chopped the wood, made a salad, visited the museum, designed a bridge, broke a cup,
rode a motorcycle, embroidered a cushion, crossed the river, punched a stranger, hugged the child,
boiled an egg, coached the team, shopped for shoes, sat by the fire, smoked a cigar,
helped the midwife, signed the contract, gave a speech, braided the hair, answered the phone,
welded the pipes, stirred the soup, played the piano, proved a theorem, dropped the plate,
raced the car, mended the curtain, swam in the lake, robbed a shop, comforted the widow,
peeled an orange, ruled the country, tried on a necklace, missed the lesson, drank a beer,
worked as a secretary, photographed a bird, sued the landlord, rocked the cradle, rang the bell,
dug a well, folded the laundry, fed the ducks, tested the rocket, spilled the milk,
drove a tractor, wore a veil, hiked in the forest, wrestled with a friend, blushed at a joke,
cut the bread, chaired the meeting, painted the nails, lay on the beach, grew a beard,
cleaned the hospital rooms, bought a newspaper, spoke in parliament, dressed the doll, lit a candle,
laid the bricks, decorated the room, took a photograph, analysed the data, tore the letter,
worked in the mine, crocheted a blanket, sailed across the bay, started a fight, kissed the infant,
poured the tea, invested in shares, went to the hairdresser, slipped on ice, shaved before dinner,
assisted the dentist, borrowed a ladder, ran for mayor, read a fairy tale, waved from the bridge,
changed the tyre, roasted a chicken, lost the umbrella, invented a machine, heard a strange noise,
served in the navy, picked out a perfume, moved to the city, lifted the piano, hosted the tea party,
carried the bags, hired ten workers, joined the choir, drew a map, gambled at the casino,
looked after the twins, saw a rainbow, defended the client, sorted the wardrobe, forgot the date
""".split(",")
)


class Variants(NamedTuple):
    """Sentences that differ by one word, and which content and frame each has."""

    first: list[str]
    second: list[str]
    neutral: list[str]
    contents: list[int]
    frames: list[int]


@checked
def block_sentences(block: Annotated[int, Range(0, len(CONTENTS) // BLOCK - 1)]) -> Variants:
    """All sentences of a block of contents, content by content; an entry for each frame.

    Parameters
    ----------
    block
        from 0 to 7; blocks share frames and no content.

    Returns
    -------
    Variants
        lists of 120.

    Raises
    ------
    ValueError
        a block that there is not.

    Examples
    --------
    >>> from ntpcompanion.experiments.adaptation.paired_sentences import block_sentences
    >>> block_sentences(0).second[0]
    'The woman repaired the engine.'
    """
    cases = [(c, f) for c in range(block * BLOCK, (block + 1) * BLOCK) for f in range(len(FRAMES))]
    first, second, neutral = (
        [FRAMES[f][0].format(FRAMES[f][1][variant], CONTENTS[c]) for c, f in cases]
        for variant in range(3)
    )
    return Variants(first, second, neutral, [c for c, _ in cases], [f for _, f in cases])
