/** `callgate projects ...`: manages projects, their campaigns and their calling hours. */
import { type Command, Option } from 'commander'
import type { HoursInput } from '../../service/projects/project-hours.js'
import type { Project } from '../../service/projects/project-list.js'
import { forAccount } from '../account-command.js'
import { CommandFailure, formatTable, type RegisterCommand, type Terminal } from '../command.js'
import { createYesNoOption } from '../option-values.js'
import { registerFtcValidation, registerRegistration } from './project-registrations.js'

interface CreateOptions {
  readonly name?: string
  readonly industryExemption?: boolean
  readonly voipRestricted?: boolean
  readonly inheritInternalDnc?: boolean
  readonly inheritEbr?: boolean
}

interface HoursOptions {
  readonly monFri?: string
  readonly sat?: string
  readonly sun?: string
  readonly from?: string
  readonly until?: string
  readonly remove?: boolean
}

export const registerProjects: RegisterCommand = (program, terminal) => {
  const group = program
    .command('projects')
    .description('manage projects of an account, each with its own lists, consents and hours')
  registerCreate(group, terminal)
  registerCampaign(group, terminal)
  registerHours(group, terminal)
  registerStatus(group, terminal, 'inactive')
  registerStatus(group, terminal, 'active')
  registerSet(group, terminal)
  registerFtcValidation(group, terminal)
  registerRegistration(group, terminal)
  group
    .command('list')
    .description('list projects with their campaigns, exemptions and status')
    .option('--account <id>', 'account', 'main')
    .action(
      forAccount(async ({ projects }, { accountId }) => {
        terminal.out(describeProjects(await projects.list(accountId)))
      }),
    )
}

function registerCreate(group: Command, terminal: Terminal): void {
  group
    .command('create')
    .description('create a project with a default campaign')
    .argument('<code>', 'project code, such as SPRING-26')
    .option('--account <id>', 'account', 'main')
    .option('--name <text>', 'name for people')
    .option('--industry-exemption', 'an industry exemption overrides list matches (letter X)')
    .option('--voip-restricted', 'treat VoIP as wireless in states that prohibit calls to wireless')
    .option('--inherit-internal-dnc', 'use the Master Project’s internal do-not-call list')
    .option('--inherit-ebr', 'use the Master Project’s relationship and permission records')
    .action(
      forAccount<CreateOptions>(async ({ projects }, { accountId, args, options }) => {
        const [code = ''] = args
        const createdCode = await projects.create({
          accountId,
          code,
          name: options.name ?? code,
          industryExemption: options.industryExemption ?? false,
          voipRestricted: options.voipRestricted ?? false,
          inheritsInternalDnc: options.inheritInternalDnc ?? false,
          inheritsEbr: options.inheritEbr ?? false,
        })
        terminal.out(`${createdCode}\n`)
      }),
    )
}

function registerCampaign(group: Command, terminal: Terminal): void {
  group
    .command('campaign')
    .description('add a campaign to a project; prints its id')
    .argument('<code>', 'project code')
    .argument('<name>', 'name for people')
    .option('--account <id>', 'account', 'main')
    .action(
      forAccount(async ({ projects }, { accountId, args: [projectCode = '', name = ''] }) => {
        terminal.out(`${await projects.createCampaign({ accountId, projectCode, name })}\n`)
      }),
    )
}

function registerHours(group: Command, terminal: Terminal): void {
  group
    .command('hours')
    .description('set or remove a project’s own calling hours for one region')
    .argument('<code>', 'project code')
    .argument('<region>', 'two-letter state, territory or province')
    .option('--mon-fri <hours>', 'HH:MM-HH:MM or none')
    .option('--sat <hours>', 'HH:MM-HH:MM or none')
    .option('--sun <hours>', 'HH:MM-HH:MM or none')
    .option('--from <date>', 'first day they apply')
    .option('--until <date>', 'last day they apply')
    .addOption(
      new Option('--remove', 'remove all of the project’s own hours for the region').conflicts([
        'monFri',
        'sat',
        'sun',
        'from',
        'until',
      ]),
    )
    .option('--account <id>', 'account', 'main')
    .action(
      forAccount<HoursOptions>(async ({ projects }, { accountId, args, options }) => {
        const [code = '', region = ''] = args
        if (options.remove) await projects.removeHours({ accountId, code }, region)
        else await projects.setHours({ accountId, code }, region, parseHours(options))
        terminal.note(`${code}: hours for ${region} are ${options.remove ? 'removed' : 'set'}\n`)
      }),
    )
}

function parseHours(options: HoursOptions): HoursInput {
  const { monFri, sat, sun, from, until } = options
  if (monFri === undefined || sat === undefined || sun === undefined) {
    throw new CommandFailure('give --mon-fri, --sat and --sun, or --remove', 2)
  }
  return { monFri, sat, sun, effectiveFrom: from, effectiveUntil: until }
}

function registerStatus(group: Command, terminal: Terminal, status: 'active' | 'inactive'): void {
  const isOn = status === 'active'
  group
    .command(isOn ? 'reactivate' : 'deactivate')
    .description(
      isOn ? 'reactivate a project' : 'deactivate a project, so that its calls are blocked',
    )
    .argument('<code>', 'project code')
    .option('--account <id>', 'account', 'main')
    .action(
      forAccount(async ({ projects }, { accountId, args: [code = ''] }) => {
        const stored = await projects.set({ accountId, code }, { status })
        terminal.note(`${stored}: is ${status}\n`)
      }),
    )
}

function registerSet(group: Command, terminal: Terminal): void {
  group
    .command('set')
    .description('change the rules that apply to a project')
    .argument('<code>', 'project code')
    .addOption(
      createYesNoOption(
        '--industry-exemption <yes|no>',
        'an industry exemption overrides list matches (letter X)',
      ),
    )
    .addOption(
      createYesNoOption(
        '--voip-restricted <yes|no>',
        'treat VoIP as wireless in states that prohibit calls to wireless',
      ),
    )
    .option('--account <id>', 'account', 'main')
    .action(
      forAccount<ProjectRules>(async ({ projects }, { accountId, args: [code = ''], options }) => {
        if (Object.keys(options).length === 0) {
          const message = 'nothing to change: give --industry-exemption or --voip-restricted'
          throw new CommandFailure(message, 2)
        }
        const stored = await projects.set({ accountId, code }, options)
        terminal.note(`${stored}: changed\n`)
      }),
    )
}

type ProjectRules = Partial<Pick<Project, 'industryExemption' | 'voipRestricted'>>

function describeProjects(projects: readonly Project[]): string {
  return formatTable(
    [...['code', 'status', 'exempt', 'voip', 'inherits', 'ftc'], ...['campaigns', 'name']],
    projects.map(({ code, status, campaigns, name, ...project }) => [
      code,
      status,
      project.industryExemption ? 'exempt' : '-',
      project.voipRestricted ? 'restricted' : '-',
      describeInheritance(project),
      project.ftcStatus ?? '-',
      campaigns.map(({ id, isDefault }) => `${id}${isDefault ? ' (default)' : ''}`).join(', '),
      name,
    ]),
  )
}

function describeInheritance({
  inheritsInternalDnc,
  inheritsEbr,
}: Pick<Project, 'inheritsInternalDnc' | 'inheritsEbr'>): string {
  const lists = [...(inheritsInternalDnc ? ['internal-dnc'] : []), ...(inheritsEbr ? ['ebr'] : [])]
  return lists.join(', ') || '-'
}
