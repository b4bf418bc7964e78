/** Builds the subjects that are no part of deciding a call. */
import { type Background, createBackground } from './compose-background.js'
import type { Foundation } from './compose-foundation.js'
import type { OutsideFacts } from './compose-outside.js'
import type { ReferenceData } from './compose-service.js'
import { orderedStamps } from './domain/clock.js'
import type { Metrics } from './metrics.js'
import { AccessTokens } from './service/accounts/access-tokens.js'
import { ValidateAccess } from './service/accounts/validate-access.js'
import { LegalEntities } from './service/legal-entities/legal-entities.js'
import { Lookups } from './service/lookups/lookups.js'
import { ReassignedChecks } from './service/lookups/reassigned-checks.js'
import { FlagsRemoved } from './service/reputation/flags-removed.js'
import { ReputationMonitor } from './service/reputation/reputation-monitor.js'
import type { Country } from './service/reputation/scores.js'
import { Scans } from './service/scans/scans.js'
import type { AccountSubjects, FactSubjects } from './service/service.js'

export interface AccountParts extends AccountSubjects {
  readonly tokens: AccessTokens
}

export function createAccountSubjects(foundation: Foundation): AccountParts {
  const { storage, world, keys, projects, expiryClock: clock, settings } = foundation
  const { timers, randomBytes } = world
  const { tokensPerKey: maxPerKey } = settings.limits
  return {
    tokens: new AccessTokens({ storage, clock, timers, randomBytes, keys, maxPerKey }),
    access: new ValidateAccess(projects),
    projects: projects.records,
    projectRpc: projects.rpc,
    legalEntities: new LegalEntities({ storage, clock }),
  }
}

interface FactParts {
  readonly data: ReferenceData
  readonly outside: OutsideFacts
  readonly metrics: Metrics
}

/** Clocks here are the machine's, for the sandbox too: its facts stand still, its jobs do not. */
export function createFactSubjects(
  foundation: Foundation,
  parts: FactParts,
): { readonly subjects: FactSubjects; readonly background: Background } {
  const { storage, world, projects, webhooks, settings } = foundation
  const { clock, random, randomBytes } = world
  const { data, outside } = parts
  const { booksOf } = outside
  const countryOf = countriesBy(foundation)
  const stamps = orderedStamps(clock)
  const work = createBackground(foundation, { ...parts, countryOf, stamps })
  const subjects: FactSubjects = {
    lookups: new Lookups({
      bookOf: (accountId) => booksOf(accountId).lookups,
      planOf: (accountId) => data.sandbox.planOf(accountId, data.plan),
    }),
    reassigned: new ReassignedChecks({
      projects,
      bookOf: (accountId) => booksOf(accountId).lookups,
      clockOf: (accountId) => data.sandbox.clockOf(accountId),
      isSandbox: (accountId) => data.sandbox.isSandbox(accountId),
    }),
    monitor: new ReputationMonitor({
      ...{ storage, clock, stamps, random, countryOf },
      firstCheckWithinMs: settings.reputation.firstCheckWithinMs,
      legalEntities: new LegalEntities({ storage, clock }),
      complaintsOf: (accountId) => booksOf(accountId).complaints,
      onAdded: () => work.lookAtLabels(),
    }),
    flagsRemoved: new FlagsRemoved({ storage, clock, countryOf }),
    scans: new Scans({ storage, clock, randomBytes, webhooks, wake: () => work.scan() }),
  }
  return { subjects, background: work }
}

/** An account that is gone is one of the United States: there is nothing left to ask about. */
function countriesBy({ accounts }: Foundation): (accountId: string) => Promise<Country> {
  return async (accountId) => (await accounts.find(accountId))?.country ?? 'US'
}
