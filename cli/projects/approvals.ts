import { Option, type Command } from 'commander'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import type { Context } from '../context/context.ts'
import { collect, noneAsEmpty } from '../parsing/arguments.ts'

type Approvals = Output<Contract['projects']['get']>['approvalPolicy']

/** What a project answers to its agents' questions, as it was typed. */
export interface ApprovalOptions {
  approveDefault?: Approvals['default']
  approveAllow?: string[]
  approveRefuse?: string[]
}

/** The options that say what is answered to agents, for hints. */
export const approvalFlags = '--approve-default, --approve-allow, --approve-refuse'

/** Adds the options that say what a project answers to its agents' questions. */
export const addApprovalOptions = (command: Command): Command =>
  command
    .addOption(
      new Option(
        '--approve-default <answer>',
        'the answer to questions of agents: ask asks people, allow_in_worktree allows files in the folder of the session',
      ).choices(['ask', 'allow_in_worktree', 'refuse']),
    )
    .option(
      '--approve-allow <prefix>',
      'the first words of a simple command that agents may run, for example "git status"; may be given several times, none for none',
      collect,
    )
    .option(
      '--approve-refuse <prefix>',
      'the first words of a command that is refused to agents, before all that is allowed; may be given several times, none for none',
      collect,
    )

/** The policy of a project with what was changed of it; undefined where nothing was. */
export async function changedApprovals(
  { client }: Context,
  id: string,
  { approveDefault, approveAllow, approveRefuse }: ApprovalOptions,
): Promise<Approvals | undefined> {
  if (!approveDefault && !approveAllow && !approveRefuse) return undefined
  return {
    ...(await client.projects.get({ id })).approvalPolicy,
    ...(approveDefault && { default: approveDefault }),
    ...(approveAllow && { allow: noneAsEmpty(approveAllow) }),
    ...(approveRefuse && { refuse: noneAsEmpty(approveRefuse) }),
  }
}

/** `ask; allow: git status, npm test; refuse: git push`. */
export const approvalsText = ({ default: answer, allow, refuse }: Approvals): string =>
  [
    answer,
    ...(allow.length > 0 ? [`allow: ${allow.join(', ')}`] : []),
    ...(refuse.length > 0 ? [`refuse: ${refuse.join(', ')}`] : []),
  ].join('; ')
