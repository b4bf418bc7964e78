/**
 * The configuration of one lab Asterisk: the shipped recipes of `config/asterisk`, and round them
 * only what any site has of its own: ports, users, endpoints, folders.
 */
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from './project-root.js'
import type { AsteriskVersion, ProvidedAsterisk } from './provided-asterisk.js'

export interface AsteriskPorts {
  readonly sip: number
  readonly http: number
  readonly ami: number
}

interface AmiUser {
  readonly username: string
  readonly secret: string
}

export interface LabConfiguration {
  readonly version: AsteriskVersion
  readonly folder: string
  readonly ports: AsteriskPorts
  readonly provided: ProvidedAsterisk
  /** Password by user of ari.conf. */
  readonly ariUsers: Readonly<Record<string, string>>
  /** Users of the manager interface. */
  readonly dialer: AmiUser
  readonly harness: AmiUser
  /** Contexts in which calls of the caller come in. */
  readonly callerContexts: readonly string[]
  /** Port at which each trunk endpoint is reached. */
  readonly trunks: ReadonlyMap<string, number>
  readonly globals: Readonly<Record<string, string>>
  readonly extensions: string
  /** Whether it writes `log/cdr-csv/Master.csv`. */
  readonly writesCallRecords: boolean
}

/** SIP header with which the lab's caller says in which context its call comes in. */
export const contextHeader = 'X-Lab-Context'

/** Files of `config/asterisk` that go elsewhere than into extensions.conf. */
const elsewhere = /^(globals|ari|http|manager|pjsip|stasis)\.conf$/
/** Templates that other files of extensions.conf need before them. */
const first: readonly string[] = ['steps.conf', 'gate.conf']

const recipes = join(projectRoot, 'config/asterisk')

export function writeConfiguration(configuration: LabConfiguration): void {
  const { folder } = configuration
  const folders = ['etc', 'var', 'db', 'spool/outgoing', 'spool/tmp', 'run', 'log/cdr-csv', 'cache']
  for (const name of folders) mkdirSync(join(folder, name), { recursive: true })
  if (!existsSync(join(folder, 'etc/callgate'))) symlinkSync(recipes, join(folder, 'etc/callgate'))
  const files: Readonly<Record<string, string>> = {
    'asterisk.conf': asteriskConf(configuration),
    'modules.conf': modulesConf(configuration),
    'http.conf': httpConf(configuration.ports.http),
    'ari.conf': ariConf(configuration.ariUsers),
    'manager.conf': managerConf(configuration),
    'stasis.conf': '[declined_message_types]\n#include "callgate/stasis.conf"\n',
    'logger.conf': '[general]\n[logfiles]\nmessages.log => notice,warning,error\n',
    'cdr.conf':
      '[general]\nenable = yes\n[csv]\nusegmtime = yes\nloguniqueid = yes\nloguserfield = yes\n',
    'rtp.conf': '[general]\nrtpstart = 20000\nrtpend = 32000\nstrictrtp = no\n',
    'pjsip.conf': pjsipConf(configuration),
    'extensions.conf': extensionsConf(configuration),
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, 'etc', name), text)
  writeGlobals(folder, configuration.globals)
}

/** What the site sets differently; read again at `dialplan reload`. */
export function writeGlobals(folder: string, globals: Readonly<Record<string, string>>): void {
  const lines = Object.entries(globals).map(([name, value]) => `${name} = ${value}\n`)
  writeFileSync(join(folder, 'etc/lab-globals.conf'), `; the site's own values\n${lines.join('')}`)
}

/** Only the folder of sockets must be its own, but a folder for all keeps runs apart. */
function asteriskConf({ folder, provided }: LabConfiguration): string {
  const own = { etc: 'etc', varlib: 'var', db: 'db', key: 'var', agi: 'var', spool: 'spool' }
  const more = { run: 'run', log: 'log', cache: 'cache' }
  const lines = Object.entries({ ...own, ...more }).map(
    ([name, path]) => `ast${name}dir => ${join(folder, path)}\n`,
  )
  const shared = `astmoddir => ${provided.modules}\nastdatadir => ${provided.data}\n`
  return `[directories]\n${lines.join('')}${shared}`
}

/** Nothing is pulled in by itself: what a module needs is in the list, too. */
const modules: readonly string[] = [
  'res_timing_timerfd',
  'res_sorcery_config',
  'res_sorcery_memory',
  'res_sorcery_astdb',
  'res_pjproject',
  'res_pjsip',
  'res_pjsip_pubsub',
  'res_pjsip_session',
  'res_pjsip_sdp_rtp',
  'res_pjsip_caller_id',
  'res_pjsip_endpoint_identifier_ip',
  'res_pjsip_rfc3326',
  'res_pjsip_header_funcs',
  'res_pjsip_dlg_options',
  'res_pjsip_diversion',
  'res_pjsip_refer',
  'res_pjsip_authenticator_digest',
  'res_rtp_asterisk',
  'chan_pjsip',
  'codec_ulaw',
  'codec_gsm',
  'format_gsm',
  'format_pcm',
  'bridge_simple',
  'bridge_holding',
  'bridge_native_rtp',
  'bridge_builtin_features',
  'app_dial',
  'app_verbose',
  'app_stack',
  'app_exec',
  'app_while',
  'app_transfer',
  'app_playback',
  'app_originate',
  'res_clioriginate',
  'func_channel',
  'func_callerid',
  'func_logic',
  'func_strings',
  'func_db',
  'func_global',
  'func_timeout',
  'func_uri',
  'func_cut',
  'func_hangupcause',
  'func_env',
  'func_math',
  'func_dialplan',
  'func_module',
  'func_version',
  'res_curl',
  'func_curl',
  'res_speech',
  'res_agi',
  'res_http_websocket',
  'res_stasis',
  'app_stasis',
  'pbx_config',
  'pbx_spool',
  'res_stasis_recording',
  'res_stasis_playback',
  'res_stasis_snoop',
  'res_stasis_answer',
  'res_ari_model',
  'res_ari',
  'res_ari_applications',
  'res_ari_asterisk',
  'res_ari_bridges',
  'res_ari_channels',
  'res_ari_endpoints',
  'res_ari_events',
]
const newerModules = ['res_websocket_client', 'res_stasis_broadcast', 'app_stasis_broadcast']

function modulesConf({ version, writesCallRecords }: LabConfiguration): string {
  const more = [...(writesCallRecords ? ['cdr_csv'] : []), ...(version === 16 ? [] : newerModules)]
  const wanted = [...more, ...modules]
  const lines = wanted.map((name) => `load = ${name}.so\n`)
  return `[modules]\nautoload = no\n${lines.join('')}`
}

function httpConf(port: number): string {
  return `[general]\nenabled = yes\nbindport = ${port}\n#include "callgate/http.conf"\n`
}

function ariConf(users: Readonly<Record<string, string>>): string {
  const sections = Object.entries(users).map(
    ([name, password]) => `[${name}]\ntype = user\npassword = ${password}\n`,
  )
  return `[general]\nenabled = yes\n#include "callgate/ari.conf"\n${sections.join('')}`
}

/** The dialer may what the recipe lets it, the harness everything. */
function managerConf({ ports, dialer, harness }: LabConfiguration): string {
  return (
    `[general]\nenabled = yes\nbindaddr = 127.0.0.1\nport = ${ports.ami}\n` +
    `#include "callgate/manager.conf"\n` +
    `[${dialer.username}](callgate-dialer)\nsecret = ${dialer.secret}\n` +
    `[${harness.username}]\nsecret = ${harness.secret}\nread = all\nwrite = all\n`
  )
}

/** A caller is known by a header, so that requests of a trunk are never taken for a caller's. */
function pjsipConf({ ports, callerContexts, trunks }: LabConfiguration): string {
  const common = 'transport = udp\ndisallow = all\nallow = ulaw\ndirect_media = no\n'
  const callers = callerContexts.map(
    (context) =>
      `[caller-${context}](callgate-phone)\ncontext = ${context}\n${common}` +
      `[caller-${context}]\ntype = identify\nendpoint = caller-${context}\n` +
      `match_header = ${contextHeader}: ${context}\n`,
  )
  const ways = [...trunks].map(
    ([name, port]) =>
      `[${name}]\ntype = aor\ncontact = sip:127.0.0.1:${port}\n` +
      `[${name}](callgate-trunk)\naors = ${name}\n${common}`,
  )
  return (
    '#include "callgate/pjsip.conf"\n' +
    '[global]\ntype = global\nendpoint_identifier_order = header,ip\n' +
    `[udp]\ntype = transport\nprotocol = udp\nbind = 127.0.0.1:${ports.sip}\n` +
    `${callers.join('')}${ways.join('')}`
  )
}

function extensionsConf({ extensions }: LabConfiguration): string {
  const shipped = readdirSync(recipes).filter(
    (name) => name.endsWith('.conf') && !elsewhere.test(name) && !first.includes(name),
  )
  return (
    '[globals]\n#include "callgate/globals.conf"\n#include "lab-globals.conf"\n' +
    `${[...first, ...shipped].map((name) => `#include "callgate/${name}"\n`).join('')}` +
    `[from-trunk]\nexten => _X.,1,Hangup()\n${extensions}\n`
  )
}
