import { messages, sessions } from './agentParts.ts'
import { activity, comments } from './activityParts.ts'
import { attachments, contents, missing } from './attachmentParts.ts'
import { boards, cards, columns, projects } from './boardParts.ts'
import { dependencies } from './dependencyParts.ts'
import { gates } from './gateParts.ts'
import { issues } from './issueParts.ts'
import type { Part } from './part.ts'
import { reviews } from './reviewParts.ts'
import { schedules } from './scheduleParts.ts'
import { scripts } from './scriptParts.ts'
import { members, organizationMembers, templates } from './peopleParts.ts'

/**
 * The parts of an export, in the order of its file: a record follows the records that it refers to. A new table with user data
 * needs a part here with a schema. A part must not contain secrets.
 */
export const parts: readonly Part[] = [
  organizationMembers,
  templates,
  projects,
  members,
  boards,
  columns,
  gates,
  scripts,
  schedules,
  cards,
  dependencies,
  issues,
  attachments,
  sessions,
  messages,
  reviews,
  comments,
  activity,
  missing,
  contents,
]
