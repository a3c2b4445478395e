import * as v from 'valibot'
import { text } from '../fields.ts'

/** The first words of a simple command: `git status` covers `git status --short`. */
const Prefix = v.pipe(
  text(1, 500),
  v.trim(),
  v.regex(
    /^[^\s;&|`$<>()'"\\]+( [^\s;&|`$<>()'"\\]+)*$/,
    'must be a command prefix of plain words, without shell operators',
  ),
)
const Prefixes = v.pipe(v.array(Prefix), v.maxLength(200, 'must have at most 200 prefixes'))

/**
 * The automatic answers of a project to questions of agents. `refuse` takes precedence over `allow`, and both over `default`.
 * Commands are compared word by word. A command that is not simple (with `;`, `&`, `|`, substitution, redirection or a line
 * break) matches no `allow`.
 */
export const ApprovalPolicy = v.strictObject({
  default: v.optional(
    v.picklist(['ask', 'allow_in_worktree', 'refuse'], 'must be ask, allow_in_worktree or refuse'),
    'ask',
  ),
  allow: v.optional(Prefixes, []),
  refuse: v.optional(Prefixes, []),
})
export type ApprovalPolicy = v.InferOutput<typeof ApprovalPolicy>
export const defaultApprovalPolicy: ApprovalPolicy = { default: 'ask', allow: [], refuse: [] }
