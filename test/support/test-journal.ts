/** A journal whose time is chosen, with decisions of chosen ids. */
import type { CallRequest, Decision } from '../../src/domain/decision.js'
import type { SegmentEvent } from '../../src/gate/journal/index-writer.js'
import { Journal } from '../../src/gate/journal/journal.js'
import type { JournalOptions } from '../../src/gate/journal/journal-options.js'
import { fakeCompliance } from './fake-compliance.js'
import { aCall, testGate } from './test-gate.js'

export interface TestJournal {
  readonly journal: Journal
  /** What happened to its segments. */
  readonly events: SegmentEvent[]
  /** Resolves when the decision is on disk. */
  append(decision: Decision): Promise<void>
}

export function testJournal(
  dataDir: string,
  now: () => number,
  more: Partial<JournalOptions> = {},
): TestJournal {
  const events: SegmentEvent[] = []
  const ignore = () => undefined
  const journal = new Journal({
    dataDir,
    databaseFiles: [],
    clock: { now },
    checkFault: async () => undefined,
    version: 'test',
    keepYears: 5,
    observer: {
      onWritten: ignore,
      onFailure: ignore,
      onUnrecorded: ignore,
      onLoss: ignore,
      onFlushed: ignore,
      onIndexLag: ignore,
      onIndexFailure: ignore,
      onSegmentEvent: (event) => void events.push(event),
    },
    ...more,
  })
  const append = (decision: Decision) =>
    new Promise<void>((resolve, reject) => {
      journal.append(decision, (cause) => (cause === undefined ? resolve() : reject(cause)))
    })
  return { journal, events, append }
}

/** An allow, unless the compliance says otherwise. Its checks were made at noon, whatever its instant is. */
export async function makeDecision(
  more: Partial<Decision>,
  call: Partial<CallRequest> = {},
  compliance = fakeCompliance(),
): Promise<Decision> {
  return { ...(await testGate(compliance).gate.decide(aCall(call))), ...more }
}
