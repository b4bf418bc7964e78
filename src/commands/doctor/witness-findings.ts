/** Whether the signed heads of the journal are kept where they survive it. */
import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Settings } from '../../config/settings.js'
import { isPresent } from '../../runtime/folders.js'
import type { HealthFinding } from './finding.js'

const docs = 'docs/witnesses.md'

export function findWitnessFindings({
  dataDir,
  journal,
}: Pick<Settings, 'dataDir' | 'journal'>): readonly HealthFinding[] {
  const { witnesses } = journal
  const remembering = witnesses.filter(({ kind }) => kind === 'witness' || kind === 'file')
  if (remembering.length === 0) {
    const problem =
      'nobody outside of the data folder keeps the signed heads of the journal: an older copy of the folder that is put ' +
      'back, or a journal that is written anew, would not be noticed'
    return [
      note(problem, `run callgate witness on another machine, and set journal.witnesses (${docs})`),
    ]
  }
  const folder = join(dataDir, 'journal')
  return witnesses.flatMap((witness) => {
    if (witness.kind !== 'file' || !isPresent(folder)) return []
    const parent = dirname(witness.path)
    if (!isPresent(parent)) {
      const problem = `the folder of journal.witnesses '${witness.path}' does not exist`
      return [
        { ...note(problem, 'mount its volume, or name another path'), level: 'soon' as const },
      ]
    }
    if (statSync(parent).dev !== statSync(folder).dev) return []
    const problem = `journal.witnesses '${witness.path}' is on the same volume as the journal, and is lost or put back with it`
    return [{ ...note(problem, `name a path on another volume (${docs})`), level: 'soon' as const }]
  })
}

const note = (problem: string, fix: string): HealthFinding => ({
  level: 'note',
  subject: 'witnesses',
  problem,
  fix,
})
