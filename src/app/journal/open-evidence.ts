/** Opens the routes of the signed journal. */
import { decisionProofEndpoint, journalEndpoint } from '../../api/gate/evidence.js'
import { createRoute, type Route } from '../../api/route.js'
import type { Settings } from '../../config/settings.js'
import type { Clock } from '../../domain/time/clock.js'
import type { EvidenceDeps } from '../../evidence/evidence-routes.js'
import type { ThreadDatabase } from '../../storage/open-database.js'

interface OpenEvidenceDeps {
  readonly settings: Pick<Settings, 'dataDir' | 'journal'>
  readonly storage: Pick<ThreadDatabase, 'db' | 'author' | 'retryWhileLocked' | 'traits'>
  readonly clock: Clock
}

/** What they need is loaded with the first request. */
export function openEvidenceRoutes(deps: OpenEvidenceDeps): readonly Route[] {
  let opened: ReturnType<typeof load> | undefined
  const open = () => {
    opened ??= load(deps)
    return opened
  }
  return [
    createRoute(decisionProofEndpoint, async (caller, { id }) => {
      const { evidence, proveDecision } = await open()
      return await proveDecision(evidence, caller, id)
    }),
    createRoute(journalEndpoint, async () => {
      const { evidence, describeJournal } = await open()
      return describeJournal(evidence)
    }),
  ]
}

async function load({ settings, storage, clock }: OpenEvidenceDeps) {
  const { dataDir } = settings
  const { proveDecision, describeJournal } = await import('../../evidence/evidence-routes.js')
  const { IndexSearch } = await import('../../gate/journal/search/index-search.js')
  const { createReadLog } = await import('../../service/audit/read-log.js')
  const evidence: EvidenceDeps = {
    dataDir,
    index: new IndexSearch({ dataDir, clock }),
    findJournal: await createJournalFinder(storage),
    recordRead: createReadLog(storage, clock),
    witnesses: settings.journal.witnesses,
    clock,
  }
  return { evidence, proveDecision, describeJournal }
}

async function createJournalFinder({
  db,
  traits,
}: OpenEvidenceDeps['storage']): Promise<EvidenceDeps['findJournal']> {
  if (!traits.isShared) return async () => undefined
  const { DecisionStore } = await import('../../gate/journal/projection/decision-store.js')
  const store = new DecisionStore(db)
  return (accountId, id) => store.findJournal(accountId, id)
}
