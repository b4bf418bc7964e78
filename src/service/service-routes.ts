/** Binds every endpoint of the service's API to the method that handles it. */
import { type AuditRecordBody, auditEndpoint } from '../api/accounts/audit.js'
import { accessCheckEndpoint, tokenEndpoint } from '../api/accounts/authentication.js'
import {
  changeKeyEndpoint,
  createKeyEndpoint,
  endPauseEndpoint,
  type KeyBody,
  listKeysEndpoint,
  listPausesEndpoint,
  pauseEndpoint,
  revokeKeyEndpoint,
} from '../api/accounts/keys.js'
import {
  legalEntitiesGet,
  legalEntityCreate,
  legalEntityUpdate,
} from '../api/accounts/legal-entities.js'
import { projectGet, projectSave, projectUpdate } from '../api/accounts/projects.js'
import { rpcProject, rpcProjectGet } from '../api/accounts/rpc-project.js'
import { legalCallTimes } from '../api/calling-hours/legal-call-times.js'
import { createTimeLegalEndpoint } from '../api/calling-hours/time-legal.js'
import { timeZoneInfo } from '../api/calling-hours/time-zone-info.js'
import { maxCsvRows } from '../api/csv.js'
import {
  type ApprovalBody,
  decideApprovalEndpoint,
  listApprovalsEndpoint,
} from '../api/gate/approvals.js'
import {
  addCallerIdsEndpoint,
  type CallerIdBody,
  endCallerIdEndpoint,
  listCallerIdsEndpoint,
} from '../api/gate/caller-ids.js'
import { idPremium, realTimeDisconnect, resOrBusiness } from '../api/lookups/line-lookups.js'
import { type LitigatorRequest, litigatorGet, litigatorPost } from '../api/lookups/litigator.js'
import {
  enhancedRndGet,
  enhancedRndPost,
  rndBasicGet,
  rndBasicPost,
} from '../api/lookups/reassigned.js'
import { verification } from '../api/lookups/verification.js'
import { addConsentEndpoint, readConsentsEndpoint } from '../api/records/consents.js'
import {
  type EbrGetResponse,
  type EbrRequest,
  type EbrResponse,
  ebrGet,
  ebrPost,
  ebrRemove,
} from '../api/records/ebr.js'
import { ftpUploadComplete, refuseUploadedFiles } from '../api/records/ftp-upload.js'
import {
  type InternalDncRequest,
  type InternalDncResponse,
  internalDncGet,
  internalDncPost,
} from '../api/records/internal-dnc.js'
import { flagsRemovedSummary } from '../api/reputation/flags-removed.js'
import {
  reputationAdd,
  reputationGet,
  reputationGetAll,
  reputationGetPost,
  reputationRemove,
} from '../api/reputation/monitor.js'
import { scanStatus, scanSubmit } from '../api/reputation/scans.js'
import { createRoute, type Route } from '../api/route.js'
import { type ScrubRequest, scrubGet, scrubPost } from '../api/scrub/scrub.js'
import { type Caller, nameCaller } from '../domain/caller.js'
import type { EbrRecordsRequest } from '../domain/consent/consent-records.js'
import type { CallerIdEntry, Pause } from '../domain/mandate.js'
import type { Instant } from '../domain/time/clock.js'
import { formatInstant } from '../domain/time/dates.js'
import type { Approval } from './accounts/approvals.js'
import type { AuditPage } from './audit/audit-trail.js'
import type { AccountKey } from './keys/account-keys.js'
import type {
  AccountServices,
  BulkFactServices,
  CallServices,
  FactServices,
  Service,
} from './service.js'

export interface ServiceRoutesOptions {
  /** Answer IsTimeLegalToCall as `[{"Response": [rows]}]` instead of a flat list. */
  readonly wrappedRows: boolean
}

export function createServiceRoutes(
  service: Service,
  options: ServiceRoutesOptions,
): readonly Route[] {
  return [
    ...createCallRoutes(service, options),
    ...createBulkFactRoutes(service),
    ...listAccountRoutes(service),
    ...listKeyRoutes(service),
    ...listFactRoutes(service),
  ]
}

/** About facts of other sources; with {@link createCallRoutes} these are all routes with lists. */
export function createBulkFactRoutes(subjects: BulkFactServices): readonly Route[] {
  const { reassigned, monitor, scans } = subjects
  return [
    createRoute(enhancedRndPost, (caller, request) => reassigned.checkEnhanced(caller, request)),
    createRoute(rndBasicPost, (caller, request) => reassigned.checkBasic(caller, request)),
    createRoute(reputationGet, (caller, request) => monitor.get(caller, request)),
    createRoute(reputationGetPost, (caller, request) => monitor.get(caller, request)),
    createRoute(reputationGetAll, (caller, request) => monitor.all(caller, request)),
    createRoute(reputationRemove, (caller, request) => monitor.remove(caller, request)),
    createRoute(scanSubmit, (caller, request) => scans.submit(caller, request)),
    createRoute(scanStatus, (caller, request) => scans.status(caller, request)),
  ]
}

export function createCallRoutes(
  subjects: CallServices,
  { wrappedRows }: ServiceRoutesOptions,
): readonly Route[] {
  const { timeLegal, callTimes, timeZones, scrub, internalDnc, ebrRecords } = subjects
  const { ebrRecordList, consentHistories, litigators, audit, recordRead } = subjects
  const scrubbed = async (caller: Caller, { relationships, ...asked }: ScrubRequest) => {
    const { projectId, campaignId } = asked
    const request = caller.scrub?.aiKeepsVoiceWindows
      ? { ...asked, aiKeepsVoiceWindows: true }
      : asked
    if (relationships) await ebrRecords.record(caller, { ...relationships, projectId, campaignId })
    return scrub.streamRows(caller.accountId, request)
  }
  const stored = async (caller: Caller, request: EbrRequest): Promise<EbrResponse> => {
    const { warnings } = await ebrRecords.record(caller, request)
    return { success: true, warnings }
  }
  const listed = internalDncActions(internalDnc)
  const listRecords = async (caller: Caller, request: EbrRecordsRequest) => {
    const records = await ebrRecordList.list(caller, request)
    const [number = '', ...others] = request.numbers
    const subject =
      others.length === 0 ? { kind: 'number', id: number } : { kind: 'consent-records', id: '' }
    await recordRead(caller, { what: 'consent-records.read', subject, rows: records.length })
    return records
  }
  const checked = ({ accountId }: Caller, request: LitigatorRequest) =>
    litigators.check(accountId, request)
  return [
    createRoute(createTimeLegalEndpoint({ wrappedRows }), (caller, { items }) =>
      timeLegal.check(caller, items),
    ),
    createRoute(legalCallTimes, (caller, { items }) => callTimes.list(caller, items)),
    createRoute(timeZoneInfo, (caller, request) => timeZones.list(caller, request)),
    createRoute(scrubGet, scrubbed),
    createRoute(scrubPost, scrubbed),
    createRoute(internalDncGet, listed),
    createRoute(internalDncPost, listed),
    createRoute(ebrPost, stored),
    createRoute(
      ebrGet,
      async (caller, asked): Promise<EbrGetResponse> =>
        'store' in asked
          ? await stored(caller, asked.store)
          : { records: await listRecords(caller, asked.list) },
    ),
    createRoute(ebrRemove, async (caller, request) => ({
      removed: await ebrRecordList.remove(caller, request),
    })),
    createRoute(addConsentEndpoint, (caller, request) => consentHistories.add(caller, request)),
    createRoute(readConsentsEndpoint, async (caller, request) => {
      const history = await consentHistories.read(caller, request)
      const rows =
        history.consents.length +
        history.records.length +
        history.statements.length +
        (history.optOut ? 1 : 0)
      const subject = { kind: 'number', id: request.number }
      await recordRead(caller, { what: 'consents.read', subject, rows })
      return history
    }),
    createRoute(litigatorGet, checked),
    createRoute(litigatorPost, checked),
    createRoute(auditEndpoint, async (caller, { output, ...question }) => {
      if (output === 'csv') {
        const { pages, getNextCursor } = await audit.export(caller, question, maxCsvRows)
        return { pages: toAuditBodies(pages), getNextCursor }
      }
      const { records, cursor } = await audit.list(caller, question)
      return { records: records.map(toAuditBody), cursor }
    }),
    createRoute(ftpUploadComplete, async (_caller, request) => refuseUploadedFiles(request)),
  ]
}

function internalDncActions(internalDnc: CallServices['internalDnc']) {
  return async (caller: Caller, request: InternalDncRequest): Promise<InternalDncResponse> => {
    switch (request.action) {
      case 'add':
        await internalDnc.add(caller, request)
        return { done: true }
      case 'remove':
        await internalDnc.remove(caller, request)
        return { done: true }
      case 'status':
        return { items: await internalDnc.readStatus(caller, request) }
      case 'count':
        return await internalDnc.count(caller, request)
    }
  }
}

function listAccountRoutes(subjects: AccountServices): Route[] {
  const { tokens, access, projects, projectRpc, legalEntities, approvals, callerIds } = subjects
  const { recordRead } = subjects
  return [
    createRoute(tokenEndpoint, (_nobody, request) => tokens.issue(request)),
    createRoute(accessCheckEndpoint, (caller, question) => access.check(caller, question)),
    createRoute(projectGet, (caller, { code }) => projects.get(caller, code)),
    createRoute(projectSave, (caller, request) => projects.save(caller, request)),
    createRoute(projectUpdate, (caller, request) => projects.update(caller, request)),
    createRoute(rpcProject, (caller, request) => projectRpc.handle(caller, request)),
    createRoute(rpcProjectGet, (caller, request) => projectRpc.handle(caller, request)),
    createRoute(listApprovalsEndpoint, async (caller, { state }) => {
      const listed = await approvals.list(caller, state)
      if (listed.length > 0) {
        const subject = { kind: 'approvals', id: '' }
        await recordRead(caller, { what: 'approvals.read', subject, rows: listed.length })
      }
      return { approvals: listed.map(toApprovalBody) }
    }),
    createRoute(decideApprovalEndpoint, async (caller, verdict) => {
      return toApprovalBody(await approvals.decide(caller, verdict, nameCaller(caller)))
    }),
    createRoute(listCallerIdsEndpoint, async (caller, { ended }) => {
      return { callerIds: (await callerIds.list(caller, { ended })).map(toCallerIdBody) }
    }),
    createRoute(addCallerIdsEndpoint, async (caller, { callerIds: inputs, reason }) => {
      await callerIds.add(caller, inputs, { by: nameCaller(caller), reason })
      return { added: inputs.length }
    }),
    createRoute(endCallerIdEndpoint, async (caller, { reason, ...number }) => {
      await callerIds.end(caller, number, { by: nameCaller(caller), reason })
      return { ended: true } as const
    }),
    createRoute(legalEntitiesGet, (caller) => legalEntities.list(caller)),
    createRoute(legalEntityCreate, (caller, input) => legalEntities.create(caller, input)),
    createRoute(legalEntityUpdate, (caller, input) => legalEntities.update(caller, input)),
  ]
}

function listKeyRoutes({ accountKeys }: Pick<AccountServices, 'accountKeys'>): Route[] {
  return [
    createRoute(listKeysEndpoint, async (caller, filter) => {
      return { keys: (await (await accountKeys()).list(caller, filter)).map(toKeyBody) }
    }),
    createRoute(createKeyEndpoint, async (caller, request) => {
      const { id, key } = await (await accountKeys()).create(caller, request)
      return { id, key }
    }),
    createRoute(changeKeyEndpoint, async (caller, request) => {
      const { version } = await (await accountKeys()).change(caller, request)
      return { id: request.id, version }
    }),
    createRoute(revokeKeyEndpoint, async (caller, { id, reason }) => {
      await (await accountKeys()).revoke(caller, id, reason)
      return { revoked: true } as const
    }),
    createRoute(listPausesEndpoint, async (caller) => {
      const pauses = await (await accountKeys()).listPauses(caller)
      return { pauses: pauses.map((pause) => ({ subject: pause.subject, ...toPauseBody(pause) })) }
    }),
    createRoute(pauseEndpoint, async (caller, { subject, reason }) => {
      await (await accountKeys()).pause(caller, subject, reason)
      return { paused: true } as const
    }),
    createRoute(endPauseEndpoint, async (caller, { subject, reason }) => {
      await (await accountKeys()).resume(caller, subject, reason)
      return { ended: true } as const
    }),
  ]
}

function toKeyBody(key: AccountKey): KeyBody {
  const { id, label, role, state, version, rights, projects, pause, calls } = key
  const toText = (at: Instant | undefined) => (at === undefined ? undefined : formatInstant(at))
  return {
    ...{ id, label, role, state, version, rights, projects, kinds: key.callKinds },
    ...calls,
    createdAt: formatInstant(key.createdAt),
    revokedAt: toText(key.revokedAt),
    lastUsedAt: toText(key.lastUsedAt),
    pause: pause && toPauseBody(pause),
    notBefore: toText(key.notBefore),
    expires: toText(key.expiresAt),
  }
}

function toPauseBody({ pausedAt, pausedBy, because }: Pause) {
  return { pausedAt: formatInstant(pausedAt), pausedBy, reason: because }
}

function toApprovalBody(approval: Approval): ApprovalBody {
  const { requestedAt, expiresAt, decidedAt, ...rest } = approval
  return {
    ...rest,
    requestedAt: formatInstant(requestedAt),
    expiresAt: formatInstant(expiresAt),
    decidedAt: decidedAt === undefined ? undefined : formatInstant(decidedAt),
  }
}

async function* toAuditBodies(pages: AsyncIterable<AuditPage['records']>) {
  for await (const records of pages) yield records.map(toAuditBody)
}

function toAuditBody({ accountId, at, ...record }: AuditPage['records'][number]): AuditRecordBody {
  return { ...record, at: formatInstant(at) }
}

function toCallerIdBody(entry: CallerIdEntry): CallerIdBody {
  const toText = (at: Instant | undefined) => (at === undefined ? undefined : formatInstant(at))
  return {
    ...entry,
    from: toText(entry.from),
    until: toText(entry.until),
    callbackTestedAt: toText(entry.callbackTestedAt),
    addedAt: formatInstant(entry.addedAt),
    endedAt: toText(entry.endedAt),
  }
}

function listFactRoutes(subjects: FactServices): Route[] {
  const { lookups, reassigned, monitor, flagsRemoved } = subjects
  return [
    createRoute(idPremium, (caller, request) => lookups.findIdentity(caller, request)),
    createRoute(realTimeDisconnect, (caller, request) => lookups.findLineStatus(caller, request)),
    createRoute(verification, (caller, request) => lookups.verify(caller, request)),
    createRoute(resOrBusiness, (caller, request) => lookups.findResOrBusiness(caller, request)),
    createRoute(enhancedRndGet, (caller, request) => reassigned.checkEnhancedOne(caller, request)),
    createRoute(rndBasicGet, (caller, request) => reassigned.checkBasicOne(caller, request)),
    createRoute(reputationAdd, (caller, request) => monitor.add(caller, request)),
    createRoute(flagsRemovedSummary, (caller, request) => flagsRemoved.summary(caller, request)),
  ]
}
