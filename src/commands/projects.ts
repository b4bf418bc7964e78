/** `callgate projects ...`: projects, their campaigns and their own calling hours. */
import { type Command, Option } from 'commander'
import type { HoursInput } from '../service/projects/project-hours.js'
import type { Project } from '../service/projects/project-list.js'
import { type AddCommand, CommandFailure, type Terminal } from './command.js'
import { requireAccount, withFoundation } from './foundation.js'
import { addFtcValidation, addRegistration } from './projects-facts.js'
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

interface SetOptions extends AccountOption {
  readonly industryExemption?: 'yes' | 'no'
  readonly voipRestricted?: 'yes' | 'no'
}

interface HoursOptions extends AccountOption {
  readonly monFri?: string
  readonly sat?: string
  readonly sun?: string
  readonly from?: string
  readonly until?: string
  readonly remove?: boolean
}

export const addProjects: AddCommand = (program, terminal) => {
  const group = program
    .command('projects')
    .description('projects of an account, each with its own lists, consents and hours')
  addCreate(group, terminal)
  addCampaign(group, terminal)
  addHours(group, terminal)
  addStatus(group, terminal, 'inactive')
  addStatus(group, terminal, 'active')
  addSet(group, terminal)
  addFtcValidation(group, terminal)
  addRegistration(group, terminal)
  group
    .command('list')
    .description('projects and campaigns, and what opens or closes their calls')
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
    .description('set a project’s own calling hours for one region, or take them away')
    .argument('<code>', 'project code')
    .argument('<region>', 'two-letter state, territory or province')
    .option('--mon-fri <hours>', 'HH:MM-HH:MM or none')
    .option('--sat <hours>', 'HH:MM-HH:MM or none')
    .option('--sun <hours>', 'HH:MM-HH:MM or none')
    .option('--from <date>', 'first day they apply')
    .option('--until <date>', 'last day they apply')
    .addOption(
      new Option('--remove', 'take all the project’s own hours for the region away').conflicts([
        'monFri',
        'sat',
        'sun',
        'from',
        'until',
      ]),
    )
    .option('--account <id>', 'account', 'main')
    .action((code: string, region: string, options: HoursOptions, command: Command) =>
      withFoundation(command, async (foundation) => {
        await requireAccount(foundation, options.account)
        const ref = { accountId: options.account, code }
        if (options.remove) await foundation.projects.removeHours(ref, region)
        else await foundation.projects.setHours(ref, region, hoursGiven(options))
        terminal.note(`${code}: hours for ${region} are ${options.remove ? 'removed' : 'set'}\n`)
      }),
    )
}

function hoursGiven(options: HoursOptions): HoursInput {
  const { monFri, sat, sun, from, until } = options
  if (monFri === undefined || sat === undefined || sun === undefined) {
    throw new CommandFailure('give --mon-fri, --sat and --sun, or --remove', 2)
  }
  return { monFri, sat, sun, effectiveFrom: from, effectiveUntil: until }
}

function addStatus(group: Command, terminal: Terminal, status: 'active' | 'inactive'): void {
  const isOn = status === 'active'
  group
    .command(isOn ? 'reactivate' : 'deactivate')
    .description(isOn ? 'switch a project on again' : 'switch a project off: its calls are refused')
    .argument('<code>', 'project code')
    .option('--account <id>', 'account', 'main')
    .action((code: string, { account }: AccountOption, command: Command) =>
      withFoundation(command, async (foundation) => {
        await requireAccount(foundation, account)
        const stored = await foundation.projects.set({ accountId: account, code }, { status })
        terminal.note(`${stored}: is ${status}\n`)
      }),
    )
}

function addSet(group: Command, terminal: Terminal): void {
  group
    .command('set')
    .description('change what a project is judged by')
    .argument('<code>', 'project code')
    .addOption(yesNo('--industry-exemption <yes|no>', 'an exemption lifts list matches (letter X)'))
    .addOption(yesNo('--voip-restricted <yes|no>', 'VoIP counts as wireless where that is barred'))
    .option('--account <id>', 'account', 'main')
    .action((code: string, options: SetOptions, command: Command) =>
      withFoundation(command, async (foundation) => {
        const { account, industryExemption: exempt, voipRestricted: voip } = options
        if (exempt === undefined && voip === undefined) {
          const message = 'nothing to set: give --industry-exemption or --voip-restricted'
          throw new CommandFailure(message, 2)
        }
        await requireAccount(foundation, account)
        const stored = await foundation.projects.set(
          { accountId: account, code },
          { industryExemption: exempt && exempt === 'yes', voipRestricted: voip && voip === 'yes' },
        )
        terminal.note(`${stored}: is set\n`)
      }),
    )
}

function yesNo(flags: string, description: string): Option {
  return new Option(flags, description).choices(['yes', 'no'])
}

function describe(projects: readonly Project[]): string {
  return table(
    [...['code', 'status', 'exempt', 'voip', 'inherits', 'ftc'], ...['campaigns', 'name']],
    projects.map(({ code, status, campaigns, name, ...project }) => [
      code,
      status,
      project.industryExemption ? 'exempt' : '-',
      project.voipRestricted ? 'restricted' : '-',
      inherited(project),
      project.ftcStatus ?? '-',
      campaigns.map(({ id, isDefault }) => `${id}${isDefault ? ' (default)' : ''}`).join(', '),
      name,
    ]),
  )
}

function inherited({
  inheritsInternalDnc,
  inheritsEbr,
}: Pick<Project, 'inheritsInternalDnc' | 'inheritsEbr'>): string {
  const lists = [...(inheritsInternalDnc ? ['internal-dnc'] : []), ...(inheritsEbr ? ['ebr'] : [])]
  return lists.join(', ') || '-'
}
