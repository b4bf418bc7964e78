/** Cells that a spreadsheet would evaluate are text, and an import gives back what was exported. */
import { expect, it } from 'vitest'
import { splitCells } from '../../src/data/feeds/cells.js'
import { formatCsvCell } from '../../src/runtime/csv-cell.js'

const formulas = [
  '=1+1',
  '=HYPERLINK("http://example.com";"x")',
  '+12125550100',
  '-1+1',
  '@SUM(A1:A2)',
  "=cmd|' /C calc'!A0",
]

it.each(formulas)('%s is no formula in a table, and the same after an import', (text) => {
  const cell = formatCsvCell(text)
  expect(cell).toMatch(/^"?'/)
  expect(splitCells(`a,${cell},b`, ',')).toEqual(['a', text, 'b'])
})

it.each(['\t=1', '\r=1', '\n=1'])('%j begins with an apostrophe', (text) => {
  expect(formatCsvCell(text)).toMatch(/^"?'/)
})

it.each(['', '2125550100', 'a=b', "O'Brien", 'a,b', 'say "stop"'])('%j stays as it is', (text) => {
  expect(splitCells(`a;${formatCsvCell(text)};b`, ';')).toEqual(['a', text, 'b'])
})
