/** `callgate projects ...`: projects, their campaigns and their own calling hours. */
import type { Command } from 'commander'
import type { Project } from '../service/accounts/projects.js'
import type { AddCommand, Terminal } from './command.js'
import { requireAccount, withFoundation } from './foundation.js'
import { table } from './table.js'

interface AccountOption {
  readonly account: string
}

interface CreateOptions extends AccountOption {
  readonly name?: string
  readonly industryExemption?: boolean
  readonly voipRestricted?: boolean
  readonly inheritInternalDnc?: boolean
  readonly inheritEbr?: boolean
}

interface HoursOptions extends AccountOption {
  readonly monFri: string
  readonly sat: string
  readonly sun: string
  readonly from?: string
  readonly until?: string
}

export const addProjects: AddCommand = (program, terminal) => {
  const group = program
    .command('projects')
    .description('projects of an account, each with its own lists, consents and hours')
  addCreate(group, terminal)
  addCampaign(group, terminal)
  addHours(group, terminal)
  group
    .command('list')
    .description('projects and campaigns')
    .option('--account <id>', 'account', 'main')
    .action(({ account }: AccountOption, command: Command) =>
      withFoundation(command, async (foundation) => {
        await requireAccount(foundation, account)
        terminal.out(describe(await foundation.projects.list(account)))
      }),
    )
}

function addCreate(group: Command, terminal: Terminal): void {
  group
    .command('create')
    .description('make a project with a default campaign')
    .argument('<code>', 'project code, such as SPRING-26')
    .option('--account <id>', 'account', 'main')
    .option('--name <text>', 'name for people')
    .option('--industry-exemption', 'list matches are lifted by an industry exemption (letter X)')
    .option('--voip-restricted', 'VoIP counts as wireless where states bar calls to wireless')
    .option('--inherit-internal-dnc', 'use the Master Project’s internal do-not-call list')
    .option('--inherit-ebr', 'use the Master Project’s relationship and consent records')
    .action((code: string, options: CreateOptions, command: Command) =>
      withFoundation(command, async (foundation) => {
        await requireAccount(foundation, options.account)
        const made = await foundation.projects.create({
          accountId: options.account,
          code,
          name: options.name ?? code,
          industryExemption: options.industryExemption ?? false,
          voipRestricted: options.voipRestricted ?? false,
          inheritsInternalDnc: options.inheritInternalDnc ?? false,
          inheritsEbr: options.inheritEbr ?? false,
        })
        terminal.out(`${made}\n`)
      }),
    )
}

function addCampaign(group: Command, terminal: Terminal): void {
  group
    .command('campaign')
    .description('add a campaign to a project; prints its id')
    .argument('<code>', 'project code')
    .argument('<name>', 'name for people')
    .option('--account <id>', 'account', 'main')
    .action((projectCode: string, name: string, { account }: AccountOption, command: Command) =>
      withFoundation(command, async (foundation) => {
        await requireAccount(foundation, account)
        const id = await foundation.projects.createCampaign({
          accountId: account,
          projectCode,
          name,
        })
        terminal.out(`${id}\n`)
      }),
    )
}

function addHours(group: Command, terminal: Terminal): void {
  group
    .command('hours')
    .description('set a project’s own calling hours for one region')
    .argument('<code>', 'project code')
    .argument('<region>', 'two-letter state, territory or province')
    .requiredOption('--mon-fri <hours>', 'HH:MM-HH:MM or none')
    .requiredOption('--sat <hours>', 'HH:MM-HH:MM or none')
    .requiredOption('--sun <hours>', 'HH:MM-HH:MM or none')
    .option('--from <date>', 'first day they apply')
    .option('--until <date>', 'last day they apply')
    .option('--account <id>', 'account', 'main')
    .action((code: string, region: string, options: HoursOptions, command: Command) =>
      withFoundation(command, async (foundation) => {
        await requireAccount(foundation, options.account)
        const { monFri, sat, sun, from, until } = options
        const hours = { monFri, sat, sun, effectiveFrom: from, effectiveUntil: until }
        await foundation.projects.setHours({ accountId: options.account, code }, region, hours)
        terminal.note(`${code}: hours for ${region} are set\n`)
      }),
    )
}

function describe(projects: readonly Project[]): string {
  return table(
    ['code', 'status', 'campaigns', 'name'],
    projects.map(({ code, status, campaigns, name }) => [
      code,
      status,
      campaigns.map(({ id, isDefault }) => `${id}${isDefault ? ' (default)' : ''}`).join(', '),
      name,
    ]),
  )
}
