import * as v from 'valibot'
import { AgentMessage } from './agentMessages.ts'
import { Message } from './agentMessages.ts'
import { CallersCard } from '../cards/cardRecords.ts'
import { Id, limit, queryInteger, refTo, Time } from '../fields.ts'
import { ofProject } from '../notFound.ts'
import { get, member, post, viewer } from '../route.ts'

/** A conversation with a planning agent that refines a card's prompt before the work starts. */
export const PreSession = v.object({
  sessionId: Id,
  cardId: Id,
  status: v.picklist(['running', 'waiting', 'accepted', 'cancelled', 'failed']),
  prompt: v.nullable(v.string()),
  createdAt: Time,
})
const ListPreSessions = v.strictObject({ limit: limit(50, 200), cursor: v.optional(queryInteger(1)) })

export const preSessions = {
  list: get('/api/projects/{projectId}/pre-session', {
    notFound: ofProject,
    who: viewer('agents.read'),
    summary: "List a project's pre-sessions, newest first",
    details: 'Use cursor for pre-sessions with a smaller ID. Only the last page has no nextCursor.',
    input: ListPreSessions,
    output: v.object({ items: v.array(PreSession), nextCursor: v.nullable(Id) }),
  }),
  start: post('/api/projects/{projectId}/pre-session', {
    fails: ['CARD_NOT_FOUND', 'AGENT_UNAVAILABLE', 'BUDGET_EXHAUSTED'],
    notFound: ofProject,
    audited: { target: 'pre-session', id: 'id' },
    at: 'machine',
    who: member('agents.run'),
    summary: "Start a pre-session, in which a planning agent refines a card's prompt",
    input: v.strictObject({ cardId: refTo('CARD_NOT_FOUND') }),
    output: PreSession,
    idempotent: true,
    status: 201,
    emits: ['agent.status'],
  }),
  get: get('/api/projects/{projectId}/pre-session/{sessionId}', {
    notFound: { ...ofProject, sessionId: 'PRE_SESSION_NOT_FOUND' },
    at: 'machine',
    who: viewer('agents.read'),
    summary: 'Get a pre-session with its current prompt',
    output: PreSession,
  }),
  send: post('/api/projects/{projectId}/pre-session/{sessionId}/message', {
    fails: ['ATTACHMENT_NOT_FOUND', 'BUDGET_EXHAUSTED'],
    notFound: { ...ofProject, sessionId: 'PRE_SESSION_NOT_FOUND' },
    audited: { target: 'pre-session' },
    at: 'machine',
    who: member('agents.run'),
    summary: 'Send a message to the planning agent of a pre-session, with attachments of the card',
    input: AgentMessage,
    output: Message,
    status: 202,
    emits: ['agent.message', 'agent.status'],
  }),
  accept: post('/api/projects/{projectId}/pre-session/{sessionId}/accept', {
    notFound: { ...ofProject, sessionId: 'PRE_SESSION_NOT_FOUND' },
    at: 'machine',
    who: member('agents.run'),
    summary: 'Accept a pre-session',
    details: "Its refined prompt replaces the card's prompt.",
    output: CallersCard,
    emits: ['card.updated'],
  }),
  cancel: post('/api/projects/{projectId}/pre-session/{sessionId}/cancel', {
    notFound: { ...ofProject, sessionId: 'PRE_SESSION_NOT_FOUND' },
    at: 'machine',
    who: member('agents.run'),
    summary: 'Cancel a pre-session',
    details: 'The card is unchanged.',
  }),
  messages: get('/api/projects/{projectId}/pre-session/{sessionId}/messages', {
    notFound: { ...ofProject, sessionId: 'PRE_SESSION_NOT_FOUND' },
    at: 'machine',
    who: viewer('agents.read'),
    summary: "List a pre-session's messages, oldest first",
    output: v.array(Message),
  }),
}
