import * as v from 'valibot'
import { text } from '../fields.ts'

/** The first words of a simple command: `git status` covers `git status --short`. */
const Prefix = v.pipe(
  text(1, 500),
  v.trim(),
  v.regex(/^[^\s;&|`$<>()'"\\]+( [^\s;&|`$<>()'"\\]+)*$/, 'must be plain words of a command'),
)
const Prefixes = v.pipe(v.array(Prefix), v.maxLength(200, 'must have at most 200 prefixes'))

/**
 * How a project answers its agents' questions. `refuse` goes before `allow`, and both before `default`. Commands are compared word
 * by word; a command that is not simple (with `;`, `&`, `|`, substitution, redirection or a line break) matches no `allow`.
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
