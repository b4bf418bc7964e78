/** The numbers a comparison asks about: those of a file, or those of recorded decisions, each once. */
import type { Callgate } from '../compose.js'
import type { PhoneNumber } from '../domain/phone-number.js'
import { decisionsSince } from '../gate/decision-rows.js'
import { readNumberToWarm } from '../gate/warm-numbers.js'
import { CommandFailure, type Terminal } from './command.js'
import { counted } from './compare-report.js'
import { describeRefused, readNumbersFile } from './numbers-file.js'

export interface AskedNumber {
  readonly number: PhoneNumber
  readonly postalCode?: string | undefined
  readonly projectId?: string | undefined
  readonly campaignId?: string | undefined
}

/** Whose lists and records the numbers of a file are asked against. */
export interface Asking {
  readonly project?: string
  readonly campaign?: string
}

interface About {
  readonly callgate: Pick<Callgate, 'storage' | 'settings' | 'world'>
  readonly accountId: string
  readonly terminal: Pick<Terminal, 'note'>
}

export async function listedNumbers(
  file: string,
  { project: projectId, campaign: campaignId }: Asking,
  { callgate, terminal }: About,
): Promise<readonly AskedNumber[]> {
  const { numbers, refused } = await readNumbersFile(file, serviceCodesOf(callgate))
  if (refused.length > 0) {
    terminal.note(
      `${counted(refused.length, 'line')} left out\n${describeRefused(refused).join('\n')}\n`,
    )
  }
  const asked = numbers.map(({ number, postalCode }) => ({
    ...{ number, postalCode, projectId, campaignId },
  }))
  return [...distinct(asked).values()]
}

/** As they were asked when the calls were decided; emergency and service codes are not among them. */
export async function recordedNumbers(
  time: string,
  { callgate, accountId }: About,
): Promise<readonly AskedNumber[]> {
  const { storage, world } = callgate
  const codes = serviceCodesOf(callgate)
  const since = world.clock.now() - durationMs(time)
  const found = new Map<string, AskedNumber>()
  for await (const records of decisionsSince(storage.db, accountId, since)) {
    const asked = records.flatMap(({ number, postalCode, projectId, campaignId }) => {
      const read = readNumberToWarm({ number, postalCode }, codes)
      return typeof read === 'string' ? [] : [{ ...read, projectId, campaignId }]
    })
    distinct(asked, found)
  }
  if (found.size > 0) return [...found.values()]
  throw new CommandFailure(
    `--recorded '${time}': no call of account ${accountId} was decided since`,
  )
}

function distinct(
  asked: readonly AskedNumber[],
  found = new Map<string, AskedNumber>(),
): ReadonlyMap<string, AskedNumber> {
  for (const one of asked) {
    const { number, postalCode, projectId, campaignId } = one
    found.set(JSON.stringify([number, postalCode, projectId, campaignId]), one)
  }
  return found
}

function serviceCodesOf({ settings }: About['callgate']): ReadonlySet<string> {
  return new Set(settings.gate.serviceCodes)
}

const unitsMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

function durationMs(text: string): number {
  const [, amount = '', unit = ''] = /^(\d{1,5})([mhd])$/.exec(text) ?? []
  const ms = Number(amount) * (unitsMs[unit] ?? Number.NaN)
  if (ms > 0) return ms
  throw new CommandFailure(`--recorded '${text}': must be a time such as 30m, 12h or 7d`, 2)
}
