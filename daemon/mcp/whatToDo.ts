import { Problem } from '../../src/contract/errors.ts'
import { failuresOf } from '../../src/contract/failures.ts'
import { contract } from '../../src/contract/index.ts'

const byCode: Partial<Record<Problem['code'], string>> = {
  VALIDATION_FAILED: 'Correct the arguments that are named.',
  FORBIDDEN: 'This account may not do it. Do not try again; tell the person.',
  INSUFFICIENT_PERMISSIONS: 'This API key may not do it. Do not try again; tell the person.',
  PROJECT_NOT_FOUND: 'list_projects has the projects that there are for you.',
  BOARD_NOT_FOUND: 'list_boards has the boards of a project.',
  COLUMN_NOT_FOUND: 'list_columns has the columns of a project.',
  COLUMN_IN_OTHER_PROJECT: 'list_columns has the columns of the project.',
  CARD_NOT_FOUND: 'search or list_cards finds cards.',
  CARD_BLOCKED: 'It waits for other cards (blockedBy of get_card). force: true starts it all the same.',
  COLUMN_FULL:
    'The column is at its limit. Move a card out of it first, or tell the person; force: true goes over the limit.',
  CARD_LIMIT_REACHED:
    'Create no more cards in this session. Put the rest into the prompt of a card, or tell the person.',
  BUDGET_EXHAUSTED: 'list_budgets tells what is used up, and when it begins anew. Tell the person.',
  AGENT_ALREADY_RUNNING: 'wait_for_card waits for its end; send_message reaches it meanwhile.',
  AGENT_NOT_RUNNING: 'get_agent tells how it ended.',
  AGENT_UNAVAILABLE: 'The agent is not there, or not signed in. Tell the person.',
  NOTHING_TO_APPROVE: 'get_agent tells what it asks, if anything.',
  CARD_NOT_DEFERRED: 'Move it into an active column to start it.',
  MERGE_CONFLICT: 'update_branch has its agent resolve the conflicts.',
  WORKTREE_DIRTY: 'There is work that was not committed. Have its agent commit it, or tell the person.',
  PULL_REQUEST_NOT_FOUND: 'create_pull_request opens one.',
  PULL_REQUEST_EXISTS: 'get_pull_request reads it.',
  FORGE_NOT_CONFIGURED: 'The project has no forge. Tell the person.',
  RATE_LIMITED: 'Wait for retryAfterSecs, then try again.',
  MACHINE_UNAVAILABLE: 'The machine with the project is away. Try again later.',
}

/** What a model can do about a failure, if there is anything to say. */
export const whatToDo = (problem: Problem): string | undefined => byCode[problem.code]

const ofMessages = new Set(failuresOf(contract.mcp.call))

/** Whether a failure is the caller's, or of what a tool needs (an agent, a forge): a model is told. Others fail the whole message. */
export const isToTell = (error: unknown): error is Problem =>
  error instanceof Problem && (error.status < 500 || !ofMessages.has(error.code))
