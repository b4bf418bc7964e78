/**
 * The feeds of facts about numbers, with the columns, reader and path of each file. A reader is loaded when
 * a file is imported.
 */
import { join } from 'node:path'
import type { LocalDay } from '../../domain/time/clock.js'
import { formatDay } from '../../domain/time/dates.js'
import type { FactFileSchema, FactRow } from '../../storage/facts/fact-file-schema.js'
import type { FeedFile, FeedFileSummary } from '../feeds/fact-table.js'
import type { ComplaintFact } from '../feeds/facts/ftc-complaints.js'
import type {
  CurrentCarrierFact,
  LineStatusFact,
  ResOrBusinessFact,
} from '../feeds/facts/line-facts.js'
import type { ReassignedFact } from '../feeds/facts/reassigned.js'
import type { SpamLabelFact } from '../feeds/facts/spam-labels.js'

export interface FactFeed<Row extends FactRow> {
  readonly shape: FactFileSchema<Row>
  readonly read: (file: FeedFile<Row>) => Promise<FeedFileSummary>
  /** Whether the rows of a new file are added to those in use instead of replacing them. */
  readonly isCumulative: boolean
  /** The column with the date of a row, and its value for a day. */
  readonly age?: { readonly column: keyof Row & string; of(day: LocalDay): string }
}

const loadLineFacts = () => import('../feeds/facts/line-facts.js')

const currentCarrier: FactFeed<CurrentCarrierFact> = {
  shape: {
    feed: 'current-carrier',
    formatVersion: 1,
    columns: { phoneType: 'text', ocn: 'text', telcoName: 'text', lookedUpOn: 'integer' },
    key: [],
    newestBy: 'lookedUpOn',
  },
  read: async (file) => (await loadLineFacts()).readCurrentCarrier(file),
  isCumulative: false,
}

const lineStatus: FactFeed<LineStatusFact> = {
  shape: {
    feed: 'line-status',
    formatVersion: 1,
    columns: { status: 'text', errorText: 'text', checkedOn: 'integer' },
    key: [],
    newestBy: 'checkedOn',
  },
  read: async (file) => (await loadLineFacts()).readLineStatus(file),
  isCumulative: false,
}

const resOrBusiness: FactFeed<ResOrBusinessFact> = {
  shape: { feed: 'res-or-business', formatVersion: 1, columns: { kind: 'text' }, key: [] },
  read: async (file) => (await loadLineFacts()).readResOrBusiness(file),
  isCumulative: false,
}

/** The data has no disconnects before `since`; an earlier day is a mistake or means an unknown day. */
const createReassignedFeed = (feed: string, since: string): FactFeed<ReassignedFact> => ({
  shape: {
    feed,
    formatVersion: 1,
    columns: { said: 'text', day: 'integer', asOn: 'integer' },
    key: ['said', 'day'],
    newestBy: 'asOn',
  },
  read: async (file) => (await import('../feeds/facts/reassigned.js')).readReassigned(file, since),
  isCumulative: true,
})

const spamLabels: FactFeed<SpamLabelFact> = {
  shape: {
    feed: 'spam-labels',
    formatVersion: 1,
    columns: { source: 'text', flagged: 'integer', observedOn: 'integer' },
    key: ['source'],
    newestBy: 'observedOn',
  },
  read: async (file) => (await import('../feeds/facts/spam-labels.js')).readSpamLabels(file),
  isCumulative: false,
}

const ftcComplaints: FactFeed<ComplaintFact> = {
  shape: {
    feed: 'ftc-complaints',
    formatVersion: 1,
    columns: {
      ...({ id: 'text', createdAt: 'text', violatedAt: 'text', city: 'text' } as const),
      ...({ state: 'text', areaCode: 'text', subject: 'text', robocall: 'text' } as const),
    },
    key: ['createdAt', 'id'],
    maxRows: 1_000,
  },
  read: async (file) => (await import('../feeds/facts/ftc-complaints.js')).readFtcComplaints(file),
  isCumulative: true,
  age: { column: 'createdAt', of: formatDay },
}

/** The feeds by name, which is also that of the file and, except for `carrier-reassigned`, the command. */
export const factFeeds = {
  'current-carrier': currentCarrier,
  'line-status': lineStatus,
  'res-or-business': resOrBusiness,
  /** From the national database. */
  reassigned: createReassignedFeed('reassigned', '2021-01-27'),
  /** From the operator's own carrier data. */
  'carrier-reassigned': createReassignedFeed('carrier-reassigned', '2018-07-01'),
  'spam-labels': spamLabels,
  'ftc-complaints': ftcComplaints,
} as const

export type FactFeedName = keyof typeof factFeeds

export const factFeedNames = Object.keys(factFeeds) as readonly FactFeedName[]

/** The row type of each feed. */
export type FactRowOf<Name extends FactFeedName> =
  (typeof factFeeds)[Name] extends FactFeed<infer Row> ? Row : never

const factFileExtension = '.sqlite'

/** The folder of the fact files in a data folder. */
export function resolveFactsFolder(dataDir: string): string {
  return join(dataDir, 'facts')
}

export function resolveFactFilePath(folder: string, feed: string): string {
  return join(folder, `${feed}${factFileExtension}`)
}
