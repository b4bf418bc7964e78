/** `callgate evidence pack`: one file with what the journal and the database have about a question, for people who trust neither it nor us. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { readConfiguration } from '../../app/read-configuration.js'
import { packageRoot, version } from '../../config/version.js'
import { createOperatorCaller, mainAccountId } from '../../domain/caller.js'
import { parsePhoneNumber } from '../../domain/phone-number.js'
import { isPresent } from '../../runtime/folders.js'
import { withAppContext } from '../account-command.js'
import { CommandFailure, findConfigOption, type RegisterCommand } from '../command.js'
import { formatCount } from '../format.js'
import { parseInstantOption } from '../option-values.js'
import { addTo, openHeads } from './verify.js'

interface PackOptions {
  readonly account?: string
  readonly number?: string
  readonly from?: string
  readonly to?: string
  readonly id?: readonly string[]
  readonly head: readonly string[]
  readonly out: string
}

export const registerPack: RegisterCommand = (group, terminal) => {
  const command = group
    .command('pack')
    .description(
      'pack the records about a number, a time or decisions, with what they rest on, into a zip file that anybody can check. ' +
        'Changes nothing; the server may be running',
    )
    .option('--account <id>', 'only decisions of this account')
    .option('--number <number>', 'only decisions about this number')
    .option('--from <instant>', 'only decisions recorded then or later')
    .option('--to <instant>', 'only decisions recorded before')
    .option('--id <decision...>', 'only these decisions')
    .option(
      '--head <file>',
      'signed heads that the recipient has kept; what connects them with the bundle is packed. May be given again',
      addTo,
      [],
    )
    .requiredOption('--out <file>', 'the zip file, which must not exist')
  command.action(async (options: PackOptions, invoked: Command) => {
    const { account: accountId, id: ids, out } = options
    const number = options.number === undefined ? undefined : parseNumber(options.number)
    const from = parseInstantOption('--from', options.from)
    const to = parseInstantOption('--to', options.to)
    if (number === undefined && ids === undefined && (from === undefined || to === undefined)) {
      throw new CommandFailure('say what to pack: --number, --id, or --from and --to', 2)
    }
    if (isPresent(out)) throw new CommandFailure(`--out '${out}': the file exists`)
    const { packBundle } = await import('../../evidence/bundle/pack-bundle.js')
    const { withStateSources } = await import('../../app/evidence/bundle-sources.js')
    const { configuration, problems } = readConfiguration({ file: findConfigOption(invoked) })
    if (!configuration) throw new CommandFailure(problems.join('\n'), 2)
    if (configuration.settings.twoPeople.for.includes('export')) {
      const request = { accountId, number, from, to, ids }
      await requireSecondPerson(invoked, accountId, request)
    }
    const { counts, treeSize } = await withStateSources(configuration, (sources) =>
      packBundle({
        journalFolder: join(configuration.settings.dataDir, 'journal'),
        question: { accountId, number, from, to, ids },
        out,
        heads: options.head.map(openHeads),
        program: version,
        verifier: readFileSync(join(packageRoot, 'dist/evidence/verify.mjs')),
        sources,
      }),
    )
    const decisions = formatCount(counts.decision ?? 0, 'decision')
    terminal.out(`${out}: ${decisions}, of ${formatCount(treeSize, 'signed record')}\n`)
  })
}

/** Throws `approval-needed` until another person has approved exactly this question. */
async function requireSecondPerson(
  command: Command,
  accountId: string | undefined,
  request: object,
): Promise<void> {
  const caller = createOperatorCaller(accountId ?? mainAccountId)
  const what = `packing the records of ${accountId ?? 'all accounts'}`
  await withAppContext(command, ({ changeRequests }) =>
    changeRequests.require(caller, { kind: 'export', what, request }),
  )
}

function parseNumber(text: string): string {
  const number = parsePhoneNumber(text)
  if (number !== undefined) return number
  throw new CommandFailure(`--number '${text}': must be a number with ten digits`)
}
