import type { Contract } from '../contract/index.ts'
import type { Output } from '../contract/route.ts'

type Gate = Output<Contract['gates']['create']>

/** The requirement of a gate of approvals: "2 approvals by admins", "1 approval by 3 named people". */
export function approvalWords({ approvals, approverRole, approverIds }: Gate): string {
  const people = approverIds?.length ?? 0
  const who = people > 0 ? `${people} named ${people === 1 ? 'person' : 'people'}` : `${approverRole}s`
  return `${approvals} ${approvals === 1 ? 'approval' : 'approvals'} by ${who}`
}

/** The requirement of a gate of an agent: "review by claude", "review by the card's agent". */
export const reviewWords = ({ agent, profile }: Gate): string =>
  `review by ${[agent, profile].filter(name => name !== null).join(', ') || "the card's agent"}`

/** The requirement of a gate: its command, or who must approve. */
export const requirementWords = (gate: Gate): string =>
  gate.kind === 'command' ? (gate.command ?? '') : gate.kind === 'review' ? reviewWords(gate) : approvalWords(gate)
