/** The error code of each path parameter whose row does not exist, for paths that name a project. */
export const ofProject = { projectId: 'PROJECT_NOT_FOUND' } as const
/** The error code of each path parameter whose row does not exist, for paths that name a card in its project. */
export const ofCard = { ...ofProject, cardId: 'CARD_NOT_FOUND' } as const
