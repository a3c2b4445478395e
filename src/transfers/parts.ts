import { messages, sessions } from './agentParts.ts'
import { attachments, contents, missing } from './attachmentParts.ts'
import { boards, cards, columns, projects } from './boardParts.ts'
import type { Part } from './part.ts'
import { scripts } from './scriptParts.ts'
import { members, organizationMembers, templates } from './peopleParts.ts'

/**
 * Everything that an export holds, in the order of its file; what a record names stands before it. Whoever adds a table that
 * people would not want to lose adds a part here, and its schema to records.ts. Secrets have no place in any of them.
 */
export const parts: readonly Part[] = [
  organizationMembers,
  templates,
  projects,
  members,
  boards,
  columns,
  scripts,
  cards,
  sessions,
  messages,
  attachments,
  missing,
  contents,
]
