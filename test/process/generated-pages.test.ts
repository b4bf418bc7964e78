/** The generated pages of the documents say what the built program does. */
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runChild } from '../../scripts/children.mjs'

it('are those the code generates', async () => {
  const script = join(import.meta.dirname, '../../scripts/generate-docs.mjs')
  const ended = await runChild(process.execPath, [script, '--check'])
  expect(ended).toMatchObject({ code: 0, err: '' })
})
