import * as v from 'valibot'
import { AgentMessage } from './agentMessages.ts'
import { Message } from './agentMessages.ts'
import { AgentSession } from './agents.ts'
import { Id } from '../fields.ts'
import { ofProject } from '../notFound.ts'
import { get, member, post, viewer } from '../route.ts'

export const assistant = {
  get: get('/api/projects/{projectId}/assistant', {
    notFound: ofProject,
    who: viewer('agents.read'),
    summary: "Get the session of the project's assistant",
    details: 'sessionId and cardId are null before the first message.',
    output: v.object({ ...AgentSession.entries, cardId: v.nullable(Id) }),
  }),
  send: post('/api/projects/{projectId}/assistant/message', {
    fails: ['COLUMN_NOT_FOUND', 'AGENT_UNAVAILABLE', 'ATTACHMENT_NOT_FOUND', 'BUDGET_EXHAUSTED'],
    notFound: ofProject,
    audited: { target: 'project' },
    at: 'machine',
    who: member('agents.run'),
    summary: "Send a message to the project's assistant, with attachments of the project",
    details: 'The assistant starts if it is not running.',
    input: AgentMessage,
    output: Message,
    status: 202,
    emits: ['agent.message', 'agent.status', 'card.updated'],
  }),
}
