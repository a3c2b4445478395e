import type { App } from '../../../src/app.ts'
import { readTrees } from '../../../src/cardWork/provedTrees.ts'
import type { proofs as contract } from '../../../src/contract/cards/proofs.ts'
import { find as findGate } from '../../../src/domain/boards/gates.ts'
import * as cards from '../../../src/domain/cards/cards.ts'
import * as checks from '../../../src/domain/cards/checks.ts'
import * as proofs from '../../../src/domain/cards/proofs.ts'
import { hasGates } from '../../../src/store/boards/gates.ts'
import { gate as gateView, proof as proofView, proofDetail } from '../../../src/views/gates.ts'
import type { Handlers } from '../../http/handlers.ts'

/** The routes of the gates that a card passes. */
export const proofsRoutes = ({
  db,
  gates: runner,
  landing,
  worktrees,
}: Pick<App, 'db' | 'gates' | 'landing' | 'worktrees'>): Handlers<typeof contract> => ({
  list: async ref => {
    const card = await cards.find(db, ref)
    const gates = await proofs.listGatesAhead(db, card)
    const judged = gates.length === 0 ? [] : await proofs.judge(db, card, gates, await readTrees(worktrees, db, ref))
    return judged.map(({ gate, proof, approvedBy, reason }) => ({
      gate: gateView(gate),
      passed: reason === null,
      reason,
      proof: proof ? proofView(proof) : null,
      approvedBy,
    }))
  },
  get: async ref => {
    // The output in memory is read first: if the command ends in between, its row has the complete output.
    const output = (await runner.output(ref.proofId)) ?? landing.output(ref.proofId)
    const proof = await checks.findProof(db, ref)
    return proofDetail(proof.status === 'running' ? { ...proof, ...output } : proof)
  },
  check: async ({ gateId, ...ref }, call) => {
    const trees = (await hasGates(db, ref.projectId)) ? await readTrees(worktrees, db, ref) : null
    return call.write(
      async tx => {
        const card = await cards.find(tx, ref)
        const ahead = await proofs.listGatesAhead(tx, card)
        const wanted =
          gateId === undefined
            ? ahead.filter(({ columnId }) => columnId === null || columnId === card.columnId)
            : [await findGate(tx, { ...ref, gateId })]
        runner.reconcile(tx)
        return checks.requestChecks(tx, card, wanted.filter(proofs.needsProof), trees, call.caller)
      },
      rows => rows.map(proofView),
    )
  },
  cancel: (ref, call) => call.write(tx => checks.cancelChecks(tx, runner, { ...ref, caller: call.caller })),
})
