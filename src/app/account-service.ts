/** Builds the services that take no part in deciding calls. */

import { sandboxAccountId } from '../domain/caller.js'
import { monotonicTimestamps } from '../domain/time/clock.js'
import type { Metrics } from '../observability/metrics.js'
import type { AccountView } from '../service/account-view.js'
import { AccessCheck } from '../service/accounts/access-check.js'
import { AccessTokens } from '../service/accounts/access-tokens.js'
import { createReadLog } from '../service/audit/read-log.js'
import { LegalEntities } from '../service/legal-entities/legal-entities.js'
import { Lookups } from '../service/lookups/lookups.js'
import { ReassignedChecks } from '../service/lookups/reassigned-checks.js'
import { RemovedFlagsReport } from '../service/reputation/flags-removed.js'
import { ReputationMonitor } from '../service/reputation/reputation-monitor.js'
import { Scans } from '../service/scans/scans.js'
import type { AccountServices, FactServices } from '../service/service.js'
import type { AppContext } from './app-context.js'
import { type BackgroundJobs, createBackgroundJobs } from './background.js'
import type { FactSources } from './fact-sources.js'

export interface AccountServicesWithTokens extends AccountServices {
  readonly tokens: AccessTokens
}

export function createAccountServices(
  context: AppContext,
  viewOf: (accountId: string) => AccountView,
): AccountServicesWithTokens {
  const {
    storage,
    runtime,
    keys,
    keyUses,
    pauses,
    projects,
    approvals,
    callerIds,
    expiryClock: clock,
    settings,
  } = context
  const { timers, randomBytes } = runtime
  const { tokensPerKey: maxPerKey } = settings.limits
  return {
    tokens: new AccessTokens({
      storage,
      clock,
      timers,
      randomBytes,
      keys,
      maxPerKey,
      uses: keyUses,
    }),
    access: new AccessCheck(projects, viewOf),
    projects: projects.records,
    projectRpc: projects.rpc,
    approvals,
    callerIds,
    accountKeys: async () => {
      const { AccountKeys } = await import('../service/keys/account-keys.js')
      return new AccountKeys({ storage, keys, pauses, clock })
    },
    legalEntities: new LegalEntities({ storage, clock }),
    recordRead: createReadLog(storage, runtime.clock),
  }
}

interface FactServicesDeps {
  readonly viewOf: (accountId: string) => AccountView
  readonly factSources: FactSources
  readonly metrics: Metrics
}

/** Uses the machine's clock even for the sandbox, since its fixed time applies to its facts, not its jobs. */
export function createFactServices(
  context: AppContext,
  deps: FactServicesDeps,
): { readonly subjects: FactServices; readonly background: BackgroundJobs } {
  const { storage, runtime, projects, webhooks, settings } = context
  const { clock, random, randomBytes } = runtime
  const { viewOf, factSources } = deps
  const { sourcesFor } = factSources
  const countryOf = (accountId: string) => context.accounts.findCountry(accountId)
  const timestamps = monotonicTimestamps(clock)
  const work = createBackgroundJobs(context, { ...deps, countryOf, timestamps })
  const subjects: FactServices = {
    lookups: new Lookups({
      lookupSourceFor: (accountId) => sourcesFor(accountId).lookups,
      planOf: (accountId) => viewOf(accountId).numberingPlan,
    }),
    reassigned: new ReassignedChecks({
      projects,
      lookupSourceFor: (accountId) => sourcesFor(accountId).lookups,
      clockOf: (accountId) => viewOf(accountId).clock,
      isSandbox: (accountId) => accountId === sandboxAccountId,
    }),
    monitor: new ReputationMonitor({
      storage,
      clock,
      timestamps,
      random,
      countryOf,
      firstCheckWithinMs: settings.reputation.firstCheckWithinMs,
      legalEntities: new LegalEntities({ storage, clock }),
      complaintSourceFor: (accountId) => sourcesFor(accountId).complaints,
      onAdded: () => work.wakeLabelChecks(),
    }),
    flagsRemoved: new RemovedFlagsReport({ storage, clock, countryOf }),
    scans: new Scans({ storage, clock, randomBytes, webhooks, wake: () => work.wakeScans() }),
  }
  return { subjects, background: work }
}
