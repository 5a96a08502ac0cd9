#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""reuters_to_arrays.py REUTERS_NPZ FOLDER [--num-words N] [--test-split S] [--seed N]: Keras' file of Reuters
newswires as flat arrays, which programs read without Python.

Writes FOLDER/{train,test}-{tokens,lengths,labels}.idx: int32, the sequences behind one another, as
keras.datasets.reuters.load_data gives them: shuffled with its seed, each begun by 1, words from 4 on, 2 for words
that are left out. FOLDER/vocabulary.txt holds how many numbers there are. The file is Keras' reuters.npz, as
keras.utils.get_file keeps it in ~/.keras/datasets. It holds pickled lists: convert none that you do not trust."""
import argparse
import pathlib

import numpy


def load(path, num_words, test_split, seed):
    with numpy.load(path, allow_pickle=True) as file:
        texts, labels = file['x'], file['y']
    order = numpy.arange(len(texts))
    numpy.random.RandomState(seed).shuffle(order)
    texts, labels = [[1] + [word + 3 for word in texts[k]] for k in order], labels[order]
    if num_words is None:  # the rarest word becomes 2, in Keras too
        num_words = max(max(text) for text in texts)
    texts = [[word if word < num_words else 2 for word in text] for text in texts]
    cut = int(len(texts) * (1 - test_split))
    return num_words, {'train': (texts[:cut], labels[:cut]), 'test': (texts[cut:], labels[cut:])}


def write(path, values):
    values = numpy.asarray(values, dtype='>i4')
    path.write_bytes(bytes([0, 0, 12, 1]) + len(values).to_bytes(4, 'big') + values.tobytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('file', type=pathlib.Path)
    parser.add_argument('folder', type=pathlib.Path)
    parser.add_argument('--num-words', type=int)
    parser.add_argument('--test-split', type=float, default=0.2)
    parser.add_argument('--seed', type=int, default=113)
    given = parser.parse_args()
    vocabulary, parts = load(given.file, given.num_words, given.test_split, given.seed)
    given.folder.mkdir(parents=True, exist_ok=True)
    for name, (texts, labels) in parts.items():
        write(given.folder / f'{name}-tokens.idx', [word for text in texts for word in text])
        write(given.folder / f'{name}-lengths.idx', [len(text) for text in texts])
        write(given.folder / f'{name}-labels.idx', labels)
        print(f'{name}: {len(texts)} texts')
    (given.folder / 'vocabulary.txt').write_text(f'{vocabulary}\n')


if __name__ == '__main__':
    main()
