import * as v from 'valibot'
import { AgentMessage, Message } from './agentMessages.ts'
import { Forced } from '../cards/cardOrder.ts'
import { Prompt, text } from '../fields.ts'
import { ofCard } from '../notFound.ts'
import { MergedWork, MergeWork } from '../forges/repositories.ts'
import { member, post } from '../route.ts'

/** The routes that start, steer and end a card's agent. */
export const agentSteering = {
  cancel: post('/api/projects/{projectId}/cards/{cardId}/agent/cancel', {
    fails: ['AGENT_NOT_RUNNING'],
    notFound: ofCard,
    at: 'machine or here',
    who: member('agents.cancel'),
    tool: { name: 'cancel_agent', title: 'Cancel an agent', group: 'run', does: 'destroys' },
    summary: "Cancel a card's agent",
    details: 'Files that the agent wrote remain.',
    emits: ['agent.status', 'card.updated'],
  }),
  send: post('/api/projects/{projectId}/cards/{cardId}/agent/message', {
    fails: ['AGENT_UNAVAILABLE', 'ATTACHMENT_NOT_FOUND', 'CARD_BLOCKED', 'BUDGET_EXHAUSTED'],
    notFound: ofCard,
    audited: { target: 'card' },
    at: 'machine',
    who: member('agents.run'),
    tool: {
      name: 'send_message',
      title: 'Send a message to an agent',
      group: 'run',
      does: 'changes',
      openWorld: true,
      brief: ['id', 'sessionId', 'role', 'content', 'at'],
    },
    summary: "Send a message to a card's agent, with attachments of the card",
    details: 'During a turn, the message waits until the turn ends.',
    input: AgentMessage,
    output: Message,
    status: 202,
    emits: ['agent.message', 'agent.status', 'card.updated'],
  }),
  retry: post('/api/projects/{projectId}/cards/{cardId}/agent/retry', {
    fails: ['AGENT_ALREADY_RUNNING', 'AGENT_UNAVAILABLE', 'CARD_BLOCKED', 'BUDGET_EXHAUSTED'],
    notFound: ofCard,
    audited: { target: 'card' },
    at: 'machine',
    who: member('agents.run'),
    tool: { name: 'retry_agent', title: 'Resume a session', group: 'run', does: 'changes', openWorld: true },
    summary: 'Resume the latest session',
    details: 'If the agent cannot resume, a new session continues the work.',
    input: Forced,
    emits: ['agent.status', 'card.updated'],
  }),
  relaunch: post('/api/projects/{projectId}/cards/{cardId}/agent/relaunch', {
    fails: ['AGENT_ALREADY_RUNNING', 'AGENT_UNAVAILABLE', 'CARD_BLOCKED', 'BUDGET_EXHAUSTED'],
    notFound: ofCard,
    audited: { target: 'card' },
    at: 'machine',
    who: member('agents.run'),
    tool: { name: 'relaunch_agent', title: 'Start a new session', group: 'run', does: 'changes', openWorld: true },
    summary: "Start a new session of a card's agent",
    input: Forced,
    emits: ['agent.status', 'card.updated'],
  }),
  relay: post('/api/projects/{projectId}/cards/{cardId}/agent/relay', {
    fails: ['AGENT_NOT_RUNNING'],
    notFound: ofCard,
    audited: { target: 'card' },
    at: 'machine',
    who: member('agents.run'),
    summary: 'Hand off a session to a new one with a summary of its context',
    emits: ['agent.status', 'card.updated'],
  }),
  approvePlan: post('/api/projects/{projectId}/cards/{cardId}/agent/plan-approve', {
    fails: ['NOTHING_TO_APPROVE', 'GATE_NOT_PASSED', 'BUDGET_EXHAUSTED'],
    notFound: ofCard,
    audited: { target: 'card', detail: ['approved', 'waitingFor', 'command', 'option'] },
    at: 'machine',
    who: member('agents.run'),
    tool: {
      name: 'answer_agent',
      title: "Answer an agent's question",
      group: 'run',
      does: 'changes',
      openWorld: true,
      note: 'get_agent shows the open questions with their options.',
    },
    summary: 'Answer an open question, plan, permission request or monitor request of an agent',
    details: 'requestId is optional if only one is open.',
    input: v.strictObject({
      approved: v.boolean(),
      feedback: v.optional(Prompt),
      requestId: v.optional(text(1, 100)),
      /** The chosen option of the question. If omitted, the option that applies once. */
      optionId: v.optional(text(1, 1000)),
      /** A text answer, for a question that accepts text. */
      answer: v.optional(v.pipe(Prompt, v.minLength(1, 'must not be empty'))),
    }),
    emits: ['agent.message', 'agent.status', 'card.updated'],
  }),
  approveAuto: post('/api/projects/{projectId}/cards/{cardId}/approve-auto', {
    fails: ['NOTHING_TO_APPROVE', 'BUDGET_EXHAUSTED'],
    notFound: ofCard,
    audited: { target: 'card', only: 'starts' },
    at: 'machine',
    who: member('agents.run'),
    tool: { name: 'approve_step', title: 'Approve a pipeline step', group: 'run', does: 'changes', openWorld: true },
    summary: 'Approve a pipeline step',
    details: 'The completed card moves to its next pipeline column.',
    emits: ['card.moved'],
  }),
  merge: post('/api/projects/{projectId}/cards/{cardId}/merge', {
    fails: [
      'NOT_A_GIT_REPOSITORY',
      'MERGE_CONFLICT',
      'WORKTREE_DIRTY',
      'AGENT_ALREADY_RUNNING',
      'GATE_NOT_PASSED',
      'CONFLICT',
    ],
    notFound: ofCard,
    audited: { target: 'card', detail: ['into', 'squash', 'repository', 'moveToDone', 'removeWorktree', 'force'] },
    at: 'machine',
    takesLong: true,
    who: member('agents.run'),
    tool: { name: 'merge_card', title: 'Merge a card', group: 'review', does: 'destroys' },
    summary: "Merge a card's branches in all repositories that it changed",
    details:
      'A conflict in any repository leaves all of them unchanged. The card must have passed the gates of the merge. With force, a project admin can merge without them.',
    input: MergeWork,
    output: MergedWork,
    emits: ['card.merged', 'card.moved', 'card.completed'],
  }),
}
