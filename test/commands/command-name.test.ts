import { expect, test } from 'vitest'
import { findCommandName } from '../../src/commands/command-name.js'

test.each([
  [[], undefined],
  [['--help'], undefined],
  [['-V'], undefined],
  [['serve'], 'serve'],
  [['keys', 'list', '--json'], 'keys'],
  [['--config', 'serve', 'check', '2125550106'], 'check'],
  [['--config=serve', 'check'], 'check'],
  [['--config', 'serve'], undefined],
  [['--config'], undefined],
  [['--unknown', 'serve'], undefined],
  [['nonsense'], 'nonsense'],
  [['help'], undefined],
  [['help', 'check'], 'check'],
  [['--config', 'a', '--', 'check'], 'check'],
])('%j names %s', (words, named) => {
  expect(findCommandName(words)).toBe(named)
})
