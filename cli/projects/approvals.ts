import { Option, type Command } from 'commander'
import type { Contract } from '../../src/contract/index.ts'
import type { Output } from '../../src/contract/route.ts'
import type { Context } from '../context/context.ts'
import { collect, noneAsEmpty } from '../parsing/arguments.ts'

type Approvals = Output<Contract['projects']['get']>['approvalPolicy']

/** The approval policy options of a project as typed. */
export interface ApprovalOptions {
  approveDefault?: Approvals['default']
  approveAllow?: string[]
  approveRefuse?: string[]
}

/** The options of the approval policy, for hints. */
export const approvalFlags = '--approve-default, --approve-allow, --approve-refuse'

/** Adds the options of a project's approval policy. */
export const addApprovalOptions = (command: Command): Command =>
  command
    .addOption(
      new Option(
        '--approve-default <answer>',
        "answer to permission requests of agents: ask (ask people), allow_in_worktree (allow files in the session's folder) or refuse",
      ).choices(['ask', 'allow_in_worktree', 'refuse']),
    )
    .option(
      '--approve-allow <prefix>',
      'allowed prefix of a simple command, for example "git status" (repeatable; none removes all)',
      collect,
    )
    .option(
      '--approve-refuse <prefix>',
      'rejected prefix of a command, which overrides all allowed prefixes (repeatable; none removes all)',
      collect,
    )

/** Returns a project's policy with the changes of the options. Returns undefined if there are none. */
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
