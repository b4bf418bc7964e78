/** `callgate config check`: checks the settings and the files that they name, without a server or a data folder. */
import type { Command } from 'commander'
import { type ConfigurationVersions, computeVersions } from '../app/configuration.js'
import { readConfiguration } from '../app/read-configuration.js'
import type { Settings } from '../config/settings.js'
import { listPolicyWarnings } from '../gate/build-policy.js'
import { nodeRuntime } from '../runtime/runtime.js'
import { CommandFailure, type RegisterCommand } from './command.js'

export const registerConfig: RegisterCommand = (program, terminal) => {
  program
    .command('config')
    .description('work with the settings')
    .command('check')
    .argument('[file]', 'settings file (default: as for the server)')
    .description(
      'check the settings, and the calling rules and sandbox files that they name; lists all mistakes and exits ' +
        'with 2 if there are any. Reads no data folder, so it can run anywhere',
    )
    .option('--json', 'print the result as JSON')
    .action(
      (
        named: string | undefined,
        { json = false }: { readonly json?: boolean },
        command: Command,
      ) => {
        const { config } = command.optsWithGlobals<{ config?: string }>()
        const { settings, problems, configuration } = readConfiguration({ file: named ?? config })
        const isValid = problems.length === 0
        const versions = configuration && computeVersions(configuration)
        const warnings = isValid ? listPolicyWarnings(settings, nodeRuntime.clock.now()) : []
        if (json)
          terminal.out(
            `${JSON.stringify({ valid: isValid, problems, warnings, versions }, undefined, 2)}\n`,
          )
        else if (versions) terminal.out(formatValid(settings, warnings, versions))
        if (isValid) return
        const list = problems.map((problem) => `\n  - ${problem}`).join('')
        throw new CommandFailure(json ? '' : `${problems.length} mistake(s):${list}`, 2)
      },
    )
}

function formatValid(
  { callingHours, sandbox }: Settings,
  warnings: readonly string[],
  versions: ConfigurationVersions,
): string {
  const lines = [
    `valid: the settings, the calling rules in ${callingHours.rulesFile}, the sandbox in ${sandbox.file}`,
    `versions: settings ${versions.settings}, calling rules ${versions.rules}`,
    ...warnings.map((warning) => `warning: ${warning}`),
  ]
  return `${lines.join('\n')}\n`
}
