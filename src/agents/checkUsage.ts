import type { AgentCheck } from '../contract/agents/agentCatalogue.ts'
import { requireBudget } from '../domain/agents/budgetState.ts'
import { chargeUsage } from '../domain/agents/budgetPauses.ts'
import { noAccount, type Caller } from '../domain/accounts/caller.ts'
import type { Agents } from '../domain/agents/sessions.ts'
import { addUsage as addCredentialUsage } from '../store/accounts/credentials.ts'
import type { Transaction } from '../store/engine/database.ts'
import { retryWhileBusy } from '../store/engine/retry.ts'
import { addToUsage, insertUsage, nameUsage, type UsageDelta } from '../store/agents/usage.ts'
import type { RunDependencies } from './sessions/runDependencies.ts'

/** The usage of a check, counted in the budgets of its credential. */
export interface CheckUsage {
  /** Records the usage of the check. */
  end(check: Pick<AgentCheck, 'inputTokens' | 'outputTokens'>, model: string | null | undefined): Promise<void>
}

/** A check belongs to no card and no project, so only the budgets of its credential limit it. */
const ofNoCard = { cardId: 0, projectId: 0 }

/**
 * Counts a check as a run of its credential. The account's own sign-in has no budget.
 * @throws Problem BUDGET_EXHAUSTED
 */
export async function beginCheckUsage(
  { db, prices, agents }: Pick<RunDependencies, 'db' | 'prices'> & { agents: Agents },
  caller: Caller,
  { agent, credentialId, greet }: { agent: string; credentialId: number | null; greet: boolean },
): Promise<CheckUsage> {
  if (credentialId === null) return { end: () => Promise.resolve() }
  const spender = { ...ofNoCard, credentialId }
  const chargeTo = (tx: Transaction, delta: UsageDelta) => chargeUsage(tx, agents, spender, delta, 0)
  // Until the agent answers, the cost of a greeting is unknown. A check without a greeting calls no model.
  const unknown = greet ? 1 : 0
  const id = await db.transaction(async tx => {
    await requireBudget(tx, spender)
    const delta = { runs: 1, costUnknown: unknown, tokensUnknown: unknown }
    const userId = caller.userId === noAccount ? null : caller.userId
    const entry = {
      ...spender,
      sessionId: 0,
      organizationId: null,
      userId,
      agent,
      model: null,
      day: tx.now.slice(0, 10),
    }
    const entryId = await insertUsage(tx, { ...entry, ...delta })
    await chargeTo(tx, delta)
    return entryId
  })
  const startedAtMs = performance.now()
  const end: CheckUsage['end'] = ({ inputTokens, outputTokens }, model = null) =>
    retryWhileBusy(() =>
      db.transaction(async tx => {
        const tokens = inputTokens === null || outputTokens === null ? undefined : { inputTokens, outputTokens }
        const costUsd = tokens && prices.costOf(model, tokens)
        const delta = {
          ...tokens,
          runningMs: Math.round(performance.now() - startedAtMs),
          ...(tokens && { tokensUnknown: -unknown }),
          ...(typeof costUsd === 'number' && { costUsd, estimatedUsd: costUsd, costUnknown: -unknown }),
        }
        nameUsage(tx, id, { model, credentialId })
        addToUsage(tx, id, delta)
        await chargeTo(tx, delta)
        const day = tx.now.slice(0, 10)
        const used = { inputTokens: tokens?.inputTokens ?? 0, outputTokens: tokens?.outputTokens ?? 0 }
        await addCredentialUsage(tx, credentialId, { day, sessions: 1, ...used, costUsd: costUsd ?? 0 })
      }),
    )
  return { end }
}
