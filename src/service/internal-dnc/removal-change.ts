/** Removing numbers from an internal list, as a change that may need a second person. */
import type { Caller } from '../../domain/caller.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import { AppError } from '../../errors.js'
import type { Db } from '../../storage/tables.js'
import type { ChangeToMake } from '../changes/change-requests.js'
import { splitIntoChunks } from '../sql/chunks.js'
import type { RowWrite } from '../sql/rows-by-number.js'

interface Removal {
  readonly numbers: readonly PhoneNumber[]
  readonly projectId?: string | undefined
  readonly campaignId?: string | undefined
  readonly reason?: string | undefined
}

/** Nothing if there is no number. */
export function toRemovalChange(
  removal: Removal,
): (ChangeToMake & { readonly endpoint: string }) | undefined {
  const { numbers, projectId, campaignId, reason } = removal
  if (numbers.length === 0) return undefined
  const of = projectId ?? (campaignId === undefined ? undefined : `campaign ${campaignId}`)
  const what = numbers.length === 1 ? 'one opt-out' : `${numbers.length} opt-outs`
  return {
    kind: numbers.length === 1 ? 'lift-opt-out' : 'remove-opt-outs',
    what: `ending ${what} of ${of === undefined ? 'the Master Project' : `project ${of}`}`,
    endpoint: 'pdnc-post',
    request: {
      ...{ actionType: 'remove', phoneList: numbers.join(','), projId: projectId, campaignId },
      reason,
    },
    reason,
  }
}

/** Throws `conflict` if one of the numbers has opted out since the change was asked for: that opt-out was not shown to who approved it. */
export async function refuseOptedOutSince(
  db: Db,
  { owner, traits }: RowWrite,
  numbers: readonly PhoneNumber[],
  { id, askedSeq }: NonNullable<Caller['change']>,
): Promise<void> {
  for (const chunk of splitIntoChunks(numbers, traits)) {
    const row = await db
      .selectFrom('internal_dnc')
      .select('number')
      .where('account_id', '=', owner.accountId)
      .where('list', '=', owner.projectCode)
      .where('number', 'in', chunk)
      .where('removed_at', 'is', null)
      .where('opted_out_seq', '>', askedSeq)
      .executeTakeFirst()
    if (!row) continue
    const rule =
      'has opted out again since it was asked for; nothing was changed, so ask for it again'
    throw new AppError('conflict', `change ${id}: ${row.number} ${rule}`)
  }
}
