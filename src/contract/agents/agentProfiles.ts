import * as v from 'valibot'
import { ChangedAgentChoice } from './agentChoice.ts'
import { AgentId, Id, refTo, text, Time, VariableName } from '../fields.ts'
import { admin, del, get, patch, post, user } from '../route.ts'

const Command = v.pipe(v.array(text(1, 4096)), v.minLength(1, 'must contain a program'), v.maxLength(200))
const Arguments = v.pipe(v.array(text(1, 4096)), v.maxLength(200))
const Environment = v.record(VariableName, text(0, 32_768))
const { model, mode, effort } = ChangedAgentChoice.entries
const how = { model, mode, effort, credentialId: v.optional(v.nullable(refTo('CREDENTIAL_NOT_FOUND'))) }

/**
 * A named configuration of an agent. Command and arguments can contain secrets, so only administrators of the server see them.
 * For others, they are null. Values of the environment are encrypted and never shown.
 */
export const AgentProfile = v.object({
  id: Id,
  name: v.string(),
  agent: v.string(),
  command: v.nullable(v.array(v.string())),
  args: v.nullable(v.array(v.string())),
  environment: v.array(v.string()),
  model: v.nullable(v.string()),
  mode: v.nullable(v.string()),
  effort: v.nullable(v.string()),
  credentialId: v.nullable(Id),
  createdAt: Time,
  updatedAt: Time,
})

export const agentProfiles = {
  list: get('/api/agents/profiles', {
    who: user,
    summary: 'List agent profiles',
    output: v.array(AgentProfile),
  }),
  create: post('/api/agents/profiles', {
    fails: ['CONFLICT', 'CREDENTIAL_NOT_FOUND', 'SEALED_WITH_OTHER_KEY', 'AGENT_UNAVAILABLE'],
    audited: { target: 'agent profile', id: 'id', detail: ['name', 'agent'] },
    who: admin,
    summary: 'Create an agent profile',
    details: 'Its environment variables are stored encrypted.',
    input: v.strictObject({
      name: AgentId,
      agent: AgentId,
      command: v.optional(v.nullable(Command), null),
      args: v.optional(Arguments, []),
      environment: v.optional(Environment, {}),
      ...how,
    }),
    output: AgentProfile,
    idempotent: true,
    status: 201,
  }),
  update: patch('/api/agents/profiles/{id}', {
    fails: ['CREDENTIAL_NOT_FOUND', 'SEALED_WITH_OTHER_KEY'],
    notFound: { id: 'PROFILE_NOT_FOUND' },
    audited: { target: 'agent profile' },
    who: admin,
    summary: 'Update an agent profile',
    details: 'A null value removes an environment variable.',
    input: v.strictObject({
      command: v.optional(v.nullable(Command)),
      args: v.optional(Arguments),
      environment: v.optional(v.record(VariableName, v.nullable(text(0, 32_768)))),
      ...how,
    }),
    output: AgentProfile,
  }),
  delete: del('/api/agents/profiles/{id}', {
    notFound: { id: 'PROFILE_NOT_FOUND' },
    audited: { target: 'agent profile' },
    who: admin,
    summary: 'Delete an agent profile',
    details: 'Cards, columns and projects that use it cannot start agents until they use another profile.',
  }),
}
