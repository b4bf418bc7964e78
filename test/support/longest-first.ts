/** Begins with the test files that take the longest, so that the workers end at about the same time. */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Their size, by which they are sorted otherwise, does not show it. */
const longest = [
  'several-sidecars',
  'bypass',
  'outages-22',
  'outages-16',
  'storage/parts',
  'storage/postgres-backup',
  'shared-lists',
  'witness',
  'retention',
  'reload',
  'doctor',
  'storage/decisions',
  'storage/edge',
  'commands/remote',
  'parts-postgres',
  'storage/postgres',
  'backup-refusals',
  'leaks',
  'durability',
  'permit-kills',
  'cluster-checker',
  'documents',
  'alerts',
  'pages',
  'fifteen-minutes',
  'now-load',
]

const rankOf = ({ moduleId }: TestSpecification) => {
  const at = longest.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`))
  return at === -1 ? longest.length : at
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.sort((a, b) => rankOf(a) - rankOf(b))
  }
}
