import { Problem } from '../../src/contract/errors.ts'
import { failuresOf } from '../../src/contract/failures.ts'
import { contract } from '../../src/contract/index.ts'

const byCode: Partial<Record<Problem['code'], string>> = {
  VALIDATION_FAILED: 'Correct the arguments that are named.',
  FORBIDDEN: 'This account does not have permission. Do not retry. Notify the person.',
  INSUFFICIENT_PERMISSIONS: 'This API key does not have permission. Do not retry. Notify the person.',
  PROJECT_NOT_FOUND: 'list_projects returns the projects that you can access.',
  BOARD_NOT_FOUND: 'list_boards returns the boards of a project.',
  COLUMN_NOT_FOUND: 'list_columns returns the columns of a project.',
  COLUMN_IN_OTHER_PROJECT: 'list_columns returns the columns of the project.',
  CARD_NOT_FOUND: 'search or list_cards finds cards.',
  CARD_BLOCKED: 'Other cards block this card (blockedBy of get_card). Use force: true to start it anyway.',
  COLUMN_FULL:
    'The column is at its limit. Move a card out of it first, or notify the person. Use force: true to exceed the limit.',
  CARD_LIMIT_REACHED:
    'Create no more cards in this session. Put the rest into the prompt of a card, or notify the person.',
  BUDGET_EXHAUSTED: 'list_budgets returns the exhausted budget and when it resets. Notify the person.',
  AGENT_ALREADY_RUNNING: 'wait_for_card waits until the agent ends. send_message reaches the running agent.',
  AGENT_NOT_RUNNING: 'get_agent returns how the agent ended.',
  AGENT_UNAVAILABLE: 'The agent is not installed, or not signed in. Notify the person.',
  NOTHING_TO_APPROVE: 'get_agent returns the open questions of the agent, if any.',
  CARD_NOT_DEFERRED: 'Move the card into an active column to start it.',
  MERGE_CONFLICT: 'update_branch sends the conflicts to the agent of the card.',
  WORKTREE_DIRTY: 'The worktree has uncommitted work. Ask the agent of the card to commit it, or notify the person.',
  PULL_REQUEST_NOT_FOUND: 'create_pull_request opens one.',
  PULL_REQUEST_EXISTS: 'get_pull_request returns the existing pull request.',
  FORGE_NOT_CONFIGURED: 'The project has no forge. Notify the person.',
  RATE_LIMITED: 'Wait for retryAfterSecs, then try again.',
  MACHINE_UNAVAILABLE: 'The machine with the project is offline. Try again later.',
}

/** Returns a recovery hint for a model, if there is one. */
export const recoveryHints = (problem: Problem): string | undefined => byCode[problem.code]

const messageErrors = new Set(failuresOf(contract.mcp.call))

/**
 * Returns whether a model must see the failure: the caller caused it, or it concerns a dependency of the tool (an agent, a forge). Other
 * failures fail the complete message.
 */
export const isForModel = (error: unknown): error is Problem =>
  error instanceof Problem && (error.status < 500 || !messageErrors.has(error.code))
