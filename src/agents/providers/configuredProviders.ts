import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { CredentialProvider } from '../../contract/accounts/credentials.ts'
import { AgentId, text, VariableName } from '../../contract/fields.ts'
import { defineProvider, type AgentProvider } from './agentProvider.ts'
import { builtIn } from './builtInProviders.ts'
import { keyVariables, type CredentialMappings } from './credentialEnvironment.ts'

/** Thrown if config.json in the data folder is invalid. The message is for the operator. */
export class InvalidConfig extends Error {
  constructor(problem: string, cause?: unknown) {
    super(`config.json in the data folder is not valid: ${problem}`, { cause })
    this.name = 'InvalidConfig'
  }
}

const maxBytes = 1024 * 1024
const Strings = v.pipe(v.array(text(1, 1000)), v.maxLength(50))
const CredentialVariables = v.strictObject({
  key: VariableName,
  baseUrl: v.optional(VariableName),
  model: v.optional(VariableName),
  args: v.optional(Strings),
})
const Agent = v.strictObject({
  name: v.optional(text(1, 200)),
  protocol: v.optional(v.picklist(['acp', 'command'], 'must be acp or command')),
  command: v.optional(v.pipe(v.array(text(1, 4096)), v.minLength(1, 'must contain a program'), v.maxLength(200))),
  install: v.optional(text(1, 1000)),
  env: v.optional(v.record(VariableName, text(0, 32_768))),
  pass: v.optional(v.pipe(v.array(VariableName), v.maxLength(200))),
  credentials: v.optional(v.record(CredentialProvider, CredentialVariables)),
  authMethods: v.optional(Strings),
  modes: v.optional(v.strictObject({ work: v.optional(Strings), plan: v.optional(Strings) })),
  model: v.optional(v.nullable(text(1, 1000))),
  usageIsCumulative: v.optional(v.boolean()),
  state: v.optional(Strings),
})
const Config = v.looseObject({ agentTelemetry: v.optional(v.boolean()), agents: v.optional(v.record(AgentId, Agent)) })
type ConfiguredAgent = v.InferOutput<typeof Agent>

/**
 * The built-in agents merged with `agents` in config.json. An entry with the ID of a built-in agent overrides only the fields
 * that it has. Any other entry must have a command. With `agentTelemetry`, the agents' telemetry settings are unchanged.
 * @throws InvalidConfig
 */
export async function readAgents(dataDir: string): Promise<AgentProvider[]> {
  const { agents: configured = {}, agentTelemetry = false } = await readConfig(dataDir)
  const known = builtIn.map(each => (configured[each.id] ? change(each, configured[each.id]!) : each))
  const own = Object.entries(configured)
    .filter(([id]) => !builtIn.some(each => each.id === id))
    .map(([id, agent]) => create(id, agent))
  const all = [...known, ...own]
  return agentTelemetry ? all.map(each => ({ ...each, telemetryOff: undefined })) : all
}

async function readConfig(dataDir: string): Promise<v.InferOutput<typeof Config>> {
  const content = await readFile(join(dataDir, 'config.json')).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new InvalidConfig(`it cannot be read (${error.code}).`, error)
  })
  if (content === undefined) return {}
  if (content.length > maxBytes) throw new InvalidConfig('it is larger than 1 MiB.')
  const { success, output, issues } = v.safeParse(Config, parse(content.toString('utf8')))
  if (!success)
    throw new InvalidConfig(
      issues
        .slice(0, 5)
        .map(issue => `${v.getDotPath(issue) ?? 'it'} ${describeIssue(issue)}`)
        .join('; ') + '.',
    )
  return output
}

/** Describes an issue without the value, which might be a secret. */
const describeIssue = ({ message, expected }: v.BaseIssue<unknown>) =>
  !message.startsWith('Invalid ') ? message : expected === 'never' ? 'is not known' : `must be ${expected}`

function parse(content: string): unknown {
  try {
    const value: unknown = JSON.parse(content.replace(/^\uFEFF/, ''))
    return Array.isArray(value) ? null : value
  } catch (error) {
    // The parser's message quotes the content, which might be a secret.
    const at = /position (\d+)/.exec((error as Error).message)?.[1]
    throw new InvalidConfig(
      at === undefined
        ? 'it is not valid JSON.'
        : `it is not valid JSON in line ${content.slice(0, Number(at)).split('\n').length}.`,
    )
  }
}

function create(id: string, agent: ConfiguredAgent): AgentProvider {
  if (!agent.command) throw new InvalidConfig(`agents.${id}.command is missing.`)
  return change(defineProvider({ id, name: id, command: agent.command, credentials: {} }), agent)
}

function change(before: AgentProvider, { credentials, modes, env, pass, ...given }: ConfiguredAgent): AgentProvider {
  const mappings = Object.fromEntries(
    Object.entries(credentials ?? {}).map(([name, { args, ...variables }]) => [
      name,
      { ...keyVariables(variables), ...(args && { args }) },
    ]),
  ) as CredentialMappings
  return {
    ...before,
    ...given,
    credentials: { ...before.credentials, ...mappings },
    modes: { ...before.modes, ...modes },
    env: { ...before.env, ...env },
    pass: [...before.pass, ...(pass ?? [])],
  }
}
