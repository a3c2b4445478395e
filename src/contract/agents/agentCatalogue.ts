import * as v from 'valibot'
import { AgentId, Count, refTo, Time } from '../fields.ts'
import { get, post, user, userOr } from '../route.ts'
import { SandboxStatus } from './sandbox.ts'

const Offered = v.array(v.object({ id: v.string(), name: v.string() }))

/**
 * The result of an agent's check. Without `greeted`, nothing was sent to a model. `detail` is the error, or the agent's answer to
 * the greeting.
 */
export const AgentCheck = v.object({
  status: v.picklist(['running', 'ok', 'failed']),
  greeted: v.boolean(),
  startedAt: Time,
  endedAt: v.nullable(Time),
  detail: v.nullable(v.string()),
  inputTokens: v.nullable(Count),
  outputTokens: v.nullable(Count),
})
export type AgentCheck = v.InferOutput<typeof AgentCheck>

/**
 * An agent that the server can start. `version`, `models`, `modes` and `efforts` are as of `seenAt`, its last start here; `tried`
 * is the version that this board was tested with. A command line can contain secrets, so only administrators of the server see
 * it. For others, it is null.
 */
export const Provider = v.object({
  id: v.string(),
  name: v.string(),
  protocol: v.picklist(['acp', 'command']),
  command: v.nullable(v.array(v.string())),
  installed: v.boolean(),
  /** The path of the agent's program. Null for callers who do not administer the server. */
  path: v.nullable(v.string()),
  install: v.nullable(v.string()),
  credentialProviders: v.array(v.string()),
  version: v.nullable(v.string()),
  tried: v.nullable(v.string()),
  signedIn: v.nullable(v.boolean()),
  models: Offered,
  modes: Offered,
  efforts: Offered,
  seenAt: v.nullable(Time),
  check: v.nullable(AgentCheck),
})

/** Rows of the resource `agents`. */
export const agentCatalogue = {
  providers: get('/api/agents', {
    fails: ['AGENT_UNAVAILABLE'],
    who: user,
    summary: 'List agents with their models, modes and efforts, and with the installation command of each',
    output: v.array(Provider),
  }),
  sandbox: get('/api/agents/sandbox', {
    who: user,
    summary: 'Get the status of the agent sandbox',
    output: SandboxStatus,
  }),
  check: post('/api/agents/{agent}/check', {
    fails: ['AGENT_UNAVAILABLE', 'BUDGET_EXHAUSTED', 'CONFLICT', 'CREDENTIAL_NOT_FOUND', 'FORBIDDEN'],
    notFound: { agent: 'AGENT_NOT_FOUND' },
    audited: { target: 'agent', detail: ['profile', 'greet'] },
    who: userOr('agents.run'),
    summary: 'Check an agent by starting and stopping it',
    details: 'With greet, the agent answers with one sentence, which uses tokens.',
    input: v.strictObject({
      profile: v.optional(v.nullable(AgentId), null),
      credentialId: v.optional(v.nullable(refTo('CREDENTIAL_NOT_FOUND')), null),
      greet: v.optional(v.boolean(), false),
    }),
    output: AgentCheck,
    status: 202,
  }),
}
