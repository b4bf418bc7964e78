import { expect, test } from 'vitest'
import { namedCommand } from '../../src/commands/named-command.js'

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
])('%j names %s', (words, named) => {
  expect(namedCommand(words)).toBe(named)
})
