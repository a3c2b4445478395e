import type { Command } from 'commander'
import { offerWords, collect } from '../parsing/arguments.ts'
import type { AgentSlots } from '../../src/contract/agents/agentSlots.ts'
import { openContext, requireUser, type Context } from '../context/context.ts'
import { exitOf, usage } from '../failures/failure.ts'
import { example, prints } from '../help/help.ts'
import { readText } from '../input/prompt.ts'
import { nearestWords } from '../output/text.ts'
import { registerAuth } from './settings/auth.ts'
import { registerLogExport } from './settings/log-export.ts'
import { registerOidc } from './settings/oidc.ts'

type Values = Record<string, unknown>
interface Group {
  about: string
  /** The setting that must not appear in an argument. */
  secret?: string
  /** Parses a value of a group whose values are not JSON. */
  parsePlain?: (value: string) => unknown
  get(context: Context): Promise<Values>
  set(context: Context, values: Values): Promise<Values>
}

/** The groups of settings that the server keeps. */
const groups: Record<string, Group> = {
  user: {
    about: 'Your own settings',
    get: ({ client }) => client.settings.getUser(),
    set: ({ client }, values) => client.settings.setUser(values),
  },
  'context-relay': {
    about: 'Handoff of agents to a new session (only admins can change it)',
    get: ({ client }) => client.settings.getContextRelay(),
    set: ({ client }, values) => client.settings.setContextRelay(values),
  },
  agents: {
    about: 'Default agent and its options (only admins can change them)',
    get: ({ client }) => client.settings.getAgents(),
    set: ({ client }, values) => client.settings.setAgents(values),
    parsePlain: value => (value === 'none' ? null : value),
  },
  'agent-slots': {
    about: 'Maximum number of concurrent agents, in total and per agent (only admins can change it)',
    get: async ({ client }) => flatSlots(await client.settings.getAgentSlots()),
    set: async ({ client }, values) => flatSlots(await client.settings.setAgentSlots(slotsOf(values))),
    parsePlain: value => (value === 'none' ? null : parseJson(value)),
  },
  notifications: {
    about: 'Notification events and channels',
    get: ({ client }) => client.notifications.get(),
    set: ({ client }, values) => client.notifications.set(values),
  },
  'log-export': {
    about: 'Log export (super_admins; board settings log-export sets headers)',
    secret: 'headers',
    get: ({ client }) => client.logs.getExport(),
    set: ({ client }, values) => client.logs.setExport(values),
  },
  shortcuts: {
    about: 'The keys of the terminal board',
    get: ({ client }) => client.settings.getShortcuts(),
    set: ({ client }, values) => client.settings.setShortcuts(values),
    parsePlain: value => value,
  },
}

export function register(command: Command): void {
  command.addHelpText(
    'after',
    `\nGroups:\n${Object.entries(groups)
      .map(([name, { about }]) => `  ${name.padEnd(15)}${about}`)
      .join('\n')}`,
  )
  prints(
    example(
      offerWords(Object.keys(groups), command.command('get [group]'))
        .summary('Show settings')
        .description('Show the settings of a group, or of all groups.'),
      'board settings get user',
      'board settings get shortcuts --json quit',
    ),
    null,
    'user context-relay agents agent-slots notifications log-export shortcuts',
  ).action((name?: string) => get(command, name))
  prints(
    example(
      offerWords(Object.keys(groups), command.command('set <group>'))
        .summary('Change settings')
        .description('Change settings of a group. Settings that you omit are unchanged.')
        .option(
          '-f, --field <key=value>',
          'setting (repeatable); true, false, numbers and JSON keep their type',
          collect,
        )
        .option('-F, --file <file>', 'file with a JSON object of settings, or - for stdin'),
      'board settings set user -f theme=dark -f highContrast=true',
      'board settings set shortcuts -f quit=q',
      'board settings set agents -f agent=claude -f model=opus -f effort=none',
      'board settings set context-relay -f thresholdPercent=70',
      'board settings set agent-slots -f server=8 -f agents.codex=2',
      'board settings set notifications -f sound=false -f webhookUrl=https://example.org/hook',
    ),
    'settings.getUser',
  ).action((name: string, options: { field?: string[]; file?: string }) => set(command, name, options))
  registerAuth(command)
  registerOidc(command)
  registerLogExport(command)
}

/** Prints one group or all groups. Skips groups that the person cannot read. */
async function get(command: Command, name: string | undefined): Promise<void> {
  const wanted = name === undefined ? Object.keys(groups) : [requireGroup(name)]
  const context = await openContext(command)
  requireUser(context, 'settings')
  const read = await Promise.allSettled(wanted.map(async each => [each, await groups[each]!.get(context)] as const))
  const values = read.flatMap(each => (each.status === 'fulfilled' ? [each.value] : []))
  const failure = read.find(
    each => each.status === 'rejected' && (values.length === 0 || exitOf(each.reason) !== 'denied'),
  ) as PromiseRejectedResult | undefined
  if (failure) throw failure.reason
  if (name !== undefined) return printValues(context, values[0]![1])
  if (context.out.json) return context.out.value(Object.fromEntries(values))
  for (const [group, row] of values)
    await printValues(
      context,
      Object.fromEntries(Object.entries(row).map(([key, value]) => [`${group}.${key}`, value])),
    )
}

async function set(
  command: Command,
  name: string,
  { field = [], file }: { field?: string[]; file?: string },
): Promise<void> {
  const group = groups[requireGroup(name)]!
  if (group.secret !== undefined && field.some(text => text.startsWith(`${group.secret}=`)))
    throw usage(`${group.secret} can contain secrets, which must not appear in arguments`, {
      hint: 'use -F file',
      see: `board settings ${name} --help`,
    })
  if (field.length === 0 && file === undefined)
    throw usage('nothing to set', { hint: 'specify -f key=value or -F file', see: 'board settings set --help' })
  const values = {
    ...(file !== undefined && parseFile(await readText(file, '-F'))),
    ...Object.fromEntries(field.map(text => parseField(text, group.parsePlain))),
  }
  const context = await openContext(command)
  requireUser(context, 'settings')
  const changed = await group.set(context, values)
  if (context.out.json) return printValues(context, changed)
  for (const [key, value] of Object.entries(values)) context.out.done(`Set ${key} to ${textOf(changed[key] ?? value)}.`)
  if (typeof changed.webhookSecret !== 'string') return
  context.out.done(
    'Notifications to the webhook are signed (Standard Webhooks) with this secret. It is not shown again:',
  )
  context.out.line(changed.webhookSecret)
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const printValues = (context: Context, row: Values): Promise<void> =>
  context.out.record(
    row,
    Object.keys(row).map(key => ({ name: key, header: key, value: each => each[key] as string | boolean | string[] })),
  )

/** `agents.codex` for the slots of one agent. */
const flatSlots = ({ server, agents }: AgentSlots): Values => ({
  server,
  ...Object.fromEntries(Object.entries(agents).map(([agent, slots]) => [`agents.${agent}`, slots])),
})

function slotsOf(values: Values): Values {
  const ofAgents = Object.entries(values).filter(([name]) => name.startsWith('agents.'))
  const others = Object.entries(values).filter(([name]) => !name.startsWith('agents.'))
  if (ofAgents.length === 0) return values
  const agents = Object.fromEntries(ofAgents.map(([name, slots]) => [name.slice('agents.'.length), slots]))
  return { ...Object.fromEntries(others), agents: { ...(values.agents as Values | undefined), ...agents } }
}

function requireGroup(name: string): string {
  if (Object.hasOwn(groups, name)) return name
  const names = Object.keys(groups)
  const meant = nearestWords(name, names)
  throw usage(`there is no group "${name}"`, {
    hint: meant.length > 0 ? `did you mean: ${meant.join(', ')}` : `known: ${names.join(', ')}`,
    see: 'board settings --help',
  })
}

function parseField(text: string, parsePlain: Group['parsePlain']): [string, unknown] {
  const at = text.indexOf('=')
  if (at < 1) throw usage(`-f requires key=value, not "${text}"`)
  const value = text.slice(at + 1)
  const parsed = parsePlain ? parsePlain(value) : parseJson(value)
  return [text.slice(0, at), parsed === undefined ? value : parsed]
}

function parseFile(text: string): Values {
  const value = parseJson(text)
  if (value === null || typeof value !== 'object' || Array.isArray(value)) throw usage('-F requires a JSON object')
  return value as Values
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
