// TODO: I understand greedy algorithms but ran out of time.
// toRoman: subtract the largest value
// fromRoman: the other way round
