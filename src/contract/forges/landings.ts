import * as v from 'valibot'
import { Proof } from '../cards/proofs.ts'
import { Id, text, Time } from '../fields.ts'
import { ofCard, ofProject } from '../notFound.ts'
import { del, get, member, post, viewer } from '../route.ts'

/**
 * - `testing`: the gates run on the merge of the card's work and the target branch.
 * - `rejected`: the merge has conflicts, or a gate failed, or the card has changed. `reason` names it.
 */
export const landingStatuses = ['waiting', 'testing', 'landed', 'rejected', 'cancelled'] as const
export type LandingStatus = (typeof landingStatuses)[number]

/**
 * A card in the queue of its project and target branch. `withAgent`: the card's agent fixes the reason of the rejection, and the card returns
 * to its place when it has finished. `mergeCommit` is the merge that is tested or that landed.
 */
export const Landing = v.object({
  id: Id,
  cardId: Id,
  cardTitle: v.string(),
  branch: v.string(),
  squash: v.boolean(),
  status: v.picklist(landingStatuses),
  reason: v.nullable(v.string()),
  withAgent: v.boolean(),
  requestedBy: v.string(),
  mergeCommit: v.nullable(v.string()),
  createdAt: Time,
  startedAt: v.nullable(Time),
  finishedAt: v.nullable(Time),
})
const ofLanding = { ...ofProject, landingId: 'LANDING_NOT_FOUND' } as const
const path = '/api/projects/{projectId}/landings'

/** Whether a project's cards in auto mode are merged by the landing queue when they have passed their gates. */
export const LandMode = v.picklist(['manual', 'when_proved'], 'must be manual or when_proved')
export type LandMode = v.InferOutput<typeof LandMode>

/** The routes of the landing queue. */
export const landings = {
  list: get(path, {
    notFound: ofProject,
    who: viewer('agents.read'),
    summary: "List a project's landing queue: the open entries in their order, then the latest finished ones",
    output: v.object({ isPaused: v.boolean(), entries: v.array(Landing) }),
  }),
  get: get(`${path}/{landingId}`, {
    notFound: ofLanding,
    who: viewer('agents.read'),
    summary: 'Get an entry of the landing queue with the results of the gates for the merge',
    output: v.object({ ...Landing.entries, proofs: v.array(Proof) }),
  }),
  add: post('/api/projects/{projectId}/cards/{cardId}/landing', {
    fails: ['NOT_A_GIT_REPOSITORY', 'AGENT_ALREADY_RUNNING', 'GATE_NOT_PASSED', 'CONFLICT'],
    notFound: ofCard,
    audited: { target: 'card', detail: ['into', 'squash'] },
    at: 'machine',
    who: member('agents.run'),
    tool: { name: 'land_card', title: 'Land a card', group: 'review', does: 'destroys' },
    summary: 'Add a card to the landing queue, which merges it after the gates have passed on the merge',
    details:
      "If the merge conflicts or a gate fails, the card's agent receives the reason, as often as the project's gateRounds allows.",
    input: v.strictObject({ into: v.optional(text(1, 1024)), squash: v.optional(v.boolean(), false) }),
    output: Landing,
    status: 202,
    emits: ['landing.updated'],
  }),
  cancel: del(`${path}/{landingId}`, {
    fails: ['CONFLICT'],
    notFound: ofLanding,
    audited: { target: 'landing' },
    who: member('agents.run'),
    summary: 'Remove a card from the landing queue',
    emits: ['landing.updated'],
  }),
  pause: post(`${path}/pause`, {
    notFound: ofProject,
    audited: { target: 'project' },
    who: member('agents.run'),
    summary: 'Pause the landing queue: the current entry is finished, and no other starts',
    emits: ['landing.paused'],
  }),
  resume: post(`${path}/resume`, {
    notFound: ofProject,
    audited: { target: 'project' },
    who: member('agents.run'),
    summary: 'Resume the landing queue',
    emits: ['landing.paused'],
  }),
}
/** Whether the landing queue of a project is paused. */
export const LandingPause = v.object({ isPaused: v.boolean() })
