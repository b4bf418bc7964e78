/** Endpoint -> method: the service's whole API on one page. */
import { grantToken, validateAccess } from '../api/auth.js'
import { legalCallTimes } from '../api/call-times.js'
import { isTimeLegalToCall } from '../api/calling-hours.js'
import { type EbrAnswer, type EbrRequest, ebrPost } from '../api/consent.js'
import { type EbrGetAnswer, ebrGet, ebrRemove } from '../api/consent-records.js'
import { ftpUploadComplete, refuseFiles } from '../api/ftp-upload.js'
import {
  type InternalDncAnswer,
  type InternalDncRequest,
  internalDncGet,
  internalDncPost,
} from '../api/internal-dnc.js'
import { legalEntitiesGet } from '../api/legal-entities.js'
import { legalEntityCreate, legalEntityUpdate } from '../api/legal-entity-write.js'
import { type LitigatorRequest, litigatorGet, litigatorPost } from '../api/litigator.js'
import { idPremium, realTimeDisconnect, resOrBusiness } from '../api/lookups.js'
import { projectGet, projectSave, projectUpdate } from '../api/projects.js'
import { enhancedRndGet, enhancedRndPost, rndBasicGet, rndBasicPost } from '../api/reassigned.js'
import { flagsRemovedSummary } from '../api/reputation-flags.js'
import {
  reputationAdd,
  reputationGet,
  reputationGetAll,
  reputationGetPost,
  reputationRemove,
} from '../api/reputation-monitor.js'
import { type Route, route } from '../api/route.js'
import { rpcProject, rpcProjectGet } from '../api/rpc-project.js'
import { scanStatus, scanSubmit } from '../api/scans.js'
import { type ScrubRequest, scrubGet, scrubPost } from '../api/scrub.js'
import { timeZoneInfo } from '../api/time-zone-info.js'
import { verification } from '../api/verification.js'
import { type Caller, publishedScrubNumbers } from '../domain/caller.js'
import type { AccountSubjects, CallSubjects, FactSubjects, Service } from './service.js'

export interface ServiceRoutesOptions {
  /** Answer IsTimeLegalToCall as `[{"Response": [rows]}]` instead of a flat list. */
  readonly wrappedRows: boolean
}

export function serviceRoutes(service: Service, options: ServiceRoutesOptions): readonly Route[] {
  return [...callRoutes(service, options), ...accountRoutes(service), ...factRoutes(service)]
}

function callRoutes(subjects: CallSubjects, { wrappedRows }: ServiceRoutesOptions): Route[] {
  const { timeLegal, callTimes, timeZones, scrub, internalDnc, consent } = subjects
  const { consentRecords, litigators } = subjects
  const scrubbed = async (caller: Caller, { relationships, ...asked }: ScrubRequest) => {
    const { projectId, campaignId } = asked
    const request = caller.scrub?.aiKeepsVoiceWindows
      ? { ...asked, aiKeepsVoiceWindows: true }
      : asked
    if (relationships) await consent.record(caller, { ...relationships, projectId, campaignId })
    if (request.items.length > publishedScrubNumbers)
      return scrub.batches(caller.accountId, request)
    return await scrub.rows(caller.accountId, request)
  }
  const stored = async (caller: Caller, request: EbrRequest): Promise<EbrAnswer> => {
    const { warnings } = await consent.record(caller, request)
    return { success: true, warnings }
  }
  const listed = internalDncActions(internalDnc)
  const checked = ({ accountId }: Caller, request: LitigatorRequest) =>
    litigators.check(accountId, request)
  return [
    route(isTimeLegalToCall({ wrappedRows }), (caller, { items }) =>
      timeLegal.check(caller, items),
    ),
    route(legalCallTimes, (caller, { items }) => callTimes.list(caller, items)),
    route(timeZoneInfo, (caller, request) => timeZones.list(caller, request)),
    route(scrubGet, scrubbed),
    route(scrubPost, scrubbed),
    route(internalDncGet, listed),
    route(internalDncPost, listed),
    route(ebrPost, stored),
    route(
      ebrGet,
      async (caller, asked): Promise<EbrGetAnswer> =>
        'store' in asked
          ? await stored(caller, asked.store)
          : { records: await consentRecords.list(caller, asked.list) },
    ),
    route(ebrRemove, async (caller, request) => ({
      removed: await consentRecords.remove(caller, request),
    })),
    route(litigatorGet, checked),
    route(litigatorPost, checked),
    route(ftpUploadComplete, async (_caller, request) => refuseFiles(request)),
  ]
}

function internalDncActions(internalDnc: CallSubjects['internalDnc']) {
  return async (caller: Caller, request: InternalDncRequest): Promise<InternalDncAnswer> => {
    switch (request.action) {
      case 'add':
        await internalDnc.add(caller, request)
        return { done: true }
      case 'remove':
        await internalDnc.remove(caller, request)
        return { done: true }
      case 'status':
        return { items: await internalDnc.status(caller, request) }
      case 'count':
        return await internalDnc.count(caller, request)
    }
  }
}

function accountRoutes(subjects: AccountSubjects): Route[] {
  const { tokens, access, projects, projectRpc, legalEntities } = subjects
  return [
    route(grantToken, (_nobody, request) => tokens.grant(request)),
    route(validateAccess, (caller, question) => access.check(caller, question)),
    route(projectGet, (caller, { code }) => projects.get(caller, code)),
    route(projectSave, (caller, request) => projects.save(caller, request)),
    route(projectUpdate, (caller, request) => projects.update(caller, request)),
    route(rpcProject, (caller, request) => projectRpc.answer(caller, request)),
    route(rpcProjectGet, (caller, request) => projectRpc.answer(caller, request)),
    route(legalEntitiesGet, (caller) => legalEntities.list(caller)),
    route(legalEntityCreate, (caller, input) => legalEntities.create(caller, input)),
    route(legalEntityUpdate, (caller, input) => legalEntities.update(caller, input)),
  ]
}

function factRoutes(subjects: FactSubjects): Route[] {
  const { lookups, reassigned, monitor, flagsRemoved, scans } = subjects
  return [
    route(idPremium, (caller, request) => lookups.identity(caller, request)),
    route(realTimeDisconnect, (caller, request) => lookups.lineStatus(caller, request)),
    route(verification, (caller, request) => lookups.verification(caller, request)),
    route(resOrBusiness, (caller, request) => lookups.resOrBusiness(caller, request)),
    route(enhancedRndGet, (caller, request) => reassigned.enhancedOne(caller, request)),
    route(enhancedRndPost, (caller, request) => reassigned.enhanced(caller, request)),
    route(rndBasicGet, (caller, request) => reassigned.basicOne(caller, request)),
    route(rndBasicPost, (caller, request) => reassigned.basic(caller, request)),
    route(reputationAdd, (caller, request) => monitor.add(caller, request)),
    route(reputationGet, (caller, request) => monitor.get(caller, request)),
    route(reputationGetPost, (caller, request) => monitor.get(caller, request)),
    route(reputationGetAll, (caller, request) => monitor.all(caller, request)),
    route(reputationRemove, (caller, request) => monitor.remove(caller, request)),
    route(flagsRemovedSummary, (caller, request) => flagsRemoved.summary(caller, request)),
    route(scanSubmit, (caller, request) => scans.submit(caller, request)),
    route(scanStatus, (caller, request) => scans.status(caller, request)),
  ]
}
