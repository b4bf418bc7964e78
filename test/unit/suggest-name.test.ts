import { describe, expect, test } from 'vitest'
import { suggestName } from '../../src/config/suggest-name.js'

describe('suggestName', () => {
  test.each([
    ['a letter added', 'portt', ['host', 'port'], 'port'],
    ['a letter removed', 'prt', ['host', 'port'], 'port'],
    ['a letter changed', 'pork', ['host', 'port'], 'port'],
    ['two letters swapped', 'prot', ['host', 'port'], 'port'],
    ['another case', 'DATADIR', ['dataDir', 'http'], 'dataDir'],
    ['two names equally close', 'modes', ['nodes', 'mode', 'modest'], undefined],
    ['one edit is closer than two', 'maxEntrie', ['maxEntries', 'minEntries'], 'maxEntries'],
    ['three edits', 'deadliXXX', ['deadlineM'], undefined],
    ['a word as short as the edits', 'at', ['as'], undefined],
    ['nothing known', 'port', [], undefined],
  ])('%s', (_case, name, known, expected) => {
    expect(suggestName(name, known)).toBe(expected)
  })
})
