/*
 * The token, gate, lease, obligation and restart protocol of HALO (PROTOCOL 4 to 9 and 11), for Spin.
 *
 *   npm run model                          every property, and that what matters can happen at all
 *   npm run model -- --sabotage latch      with one mistake built in: a property must break
 *
 * A property is a set of assertions of an observer, which sees what is said, what is decided and which frames leave. The
 * engine reads nothing that the observer writes. Each run defines one of G1, G3, G4, DENIED, PILOT, HELD, STEP, or a WITNESS.
 *
 * The mission: a take-off (a command of two frames) and a goto (a setpoint) that rests on it, both on one resource. The
 * agent may say anything, and the broker may deliver it late, again, in another order and to a later session. Any field may
 * change before any step. The process may crash between two steps, and in a step before a frame leaves.
 *
 * What is abstracted, and why it may be, stands in docs/model.md.
 */

#ifndef PACKETS
#define PACKETS 3      /* that are ever accepted for the first time */
#endif
#ifndef SNAPSHOTS
#define SNAPSHOTS 3    /* of one session */
#endif
#ifndef SESSIONS
#define SESSIONS 2
#endif
#define SEQUENCES (2 * PACKETS)

/* The components. */
#define TAKEOFF 0
#define GOTO 1
#define MASK(c) (1 << (c))
#define BAD(c) (4 << (c))

/* A token (PROTOCOL 6). What ends without being done is revoked here, leased or not: neither opens anything again. */
#define NONE 0
#define ISSUED 1
#define LEASED 2
#define CLOSED 3       /* completed */
#define REVOKED 4

/* Who has the resource, beside the sequence of a lease. */
#define FREE 0
#define CONTINGENCY (SEQUENCES + 1)
#define HANDOVER (SEQUENCES + 2)   /* between two effects of one step */

/* What the newest mode report says; after a restart and in silence, nothing. */
#define UNKNOWN 0
#define OURS 1         /* HOLD, or a mode that we set: explained */
#define PILOTS 2       /* unexplained: the pilot, a failsafe, or somebody else */
#define CONCEDED 3     /* the pilot's still, but the operator has resumed: explained, and not ours */

/* What becomes of a step, as far as it is not the engine's to decide. A tick draws one, a response too; any other input is
   followed by a tick, which comes to the same. */
#define IDLE 0         /* nothing is due */
#define SENT 1         /* the same frame again: a stream, or a retransmission */
#define ADVANCED 2     /* the next stage; in its last, a goto has arrived */
#define FAILED 3       /* time_exceeded, tick_missed, refused, unacknowledged */
#define LOST 4         /* the link takes no frame */
#define CRASHED 5      /* before a frame leaves: the token is leased already */

/* What the step applies before all that follows; any other input is a value that has changed already. */
#define PACKET 1       /* k is delivered */
#define RETRY 2        /* k is offered */
#define CRASH 3
#define TRAP 4

/* ---- What was said: the broker keeps it for ever ---- */

byte said;
byte by_session[PACKETS + 1];   /* of the snapshot that it cites */
byte cites[PACKETS + 1];
byte claims[PACKETS + 1];       /* its generation */
byte recovers[PACKETS + 1];     /* the packet that started the plan; 0 starts one */
byte parts[PACKETS + 1];         /* what it brings, and which of it cannot be read */

/* ---- What the engine was told of the vehicle, and what is journalled ---- */

bit supported;                  /* the support of both is known, fresh and true */
bit flying;                     /* what take-off `holds`, and goto's gate clause */
byte seen;
bit pilot_control;              /* journalled */

/* ---- A session ---- */

byte session = 1;
byte newest = 1;                /* snapshot */
byte generation;                /* of the newest accepted response */
byte plan;                      /* the live one, named by the packet that started it */
byte sequences;
byte token[SEQUENCES + 1];
byte packet[SEQUENCES + 1];
byte id[SEQUENCES + 1];
byte plan_of[SEQUENCES + 1];
byte rests[SEQUENCES + 1];      /* the very take-off that a goto is bound to */
byte member[2];                 /* the instance that stands for each id of the live plan */
byte missing[2];                /* an obligation a component: who was not retained afresh yet; nobody: it is closed */
byte opened[2];                 /* the newest snapshot when it was opened or updated */
byte holder;                    /* of the resource */
byte stage;                     /* of the holder's lease: 1 its first frame has left, 2 its last command too */
bit orphan;                     /* a fresh process has not seen yet whether the vehicle flies to older setpoints */

/* ---- A step: all zero between two ---- */

byte input;
byte fate;
bit frames;                     /* one has left: there is never a second */
bit crashed;
byte k, on, fell, roots;
bit takes, goes;

/* ---- The observer ---- */

#define KEY(s) (1 << ((packet[s] - 1) * 2 + id[s]))   /* one component of one packet, over all sessions */

#ifdef G1
short completed;                /* take-offs of this session that were done while flying */
#endif
#ifdef G3
short crossed;                  /* keys */
#endif
#ifdef G4
byte gone;                      /* ids of the live plan that were lost, and not retained since */
byte gone_snapshot[2];
byte gone_generation[2];
byte last_sequence;
#endif
#ifdef DENIED
short dead;                     /* keys of what was denied or has ended */
#endif
#ifdef PILOT
bit pilot;                      /* a takeover was reported, and nobody has resumed */
#endif
#ifdef HELD
byte under_way;                 /* the sequence of the effect on the vehicle */
#endif

/* A witness is a thing that must be able to happen: its run is good when it fails. */
#ifdef WITNESS
#define SEE(what, n) assert(!(what) || n != WITNESS)
#else
#define SEE(what, n) skip
#endif

/* G1: at every frame, what it rests on is completed, and what that holds is true. */
inline observe_frame(s) {
#ifdef G1
  assert(id[s] == TAKEOFF || ((completed & MASK(rests[s])) && flying));
#endif
#ifdef DENIED
  assert(!(dead & KEY(s)));
#endif
#ifdef PILOT
  assert(!pilot);
#endif
#ifdef STEP
  assert(!frames);              /* that one fate a step is enough */
#endif
  skip
}

/* G3: a component of a packet crosses once, whatever is delivered, offered, lost, crashed or restarted. */
inline observe_crossing(s) {
#ifdef G3
  assert(!(crossed & KEY(s)));
  crossed = crossed | KEY(s);
#endif
#ifdef HELD
  assert(under_way == 0);
  under_way = s;
#endif
  SEE(id[s] == GOTO, 1);
  SEE(id[s] == GOTO && plan_of[s] != packet[s] && session > 1, 2);
  SEE(id[s] == TAKEOFF && plan_of[s] > 1, 3)
}

/* G4: in a plan, an id comes back only after it was lost, on newer evidence, with a new generation and a new token. */
inline observe_retained(s) {
#ifdef G1
  assert(id[s] == TAKEOFF || (token[rests[s]] != NONE && token[rests[s]] != REVOKED));
#endif
#ifdef G4
  assert(s > last_sequence);
  last_sequence = s;
  if
  :: plan_of[s] != packet[s] ->
     assert(gone & MASK(id[s]));
     assert(cites[packet[s]] > gone_snapshot[id[s]]);
     assert(claims[packet[s]] > gone_generation[id[s]])
  :: else
  fi;
  gone = gone & ~MASK(id[s]);
  gone_snapshot[id[s]] = 0;
  gone_generation[id[s]] = 0;
#endif
  skip
}

inline observe_end(s) {
#ifdef DENIED
  dead = dead | KEY(s);
#endif
#ifdef HELD
  under_way = (under_way == s -> 0 : under_way);
#endif
  skip
}

inline observe_loss(c, by) {
#ifdef G4
  gone = gone | MASK(c);
  gone_snapshot[c] = newest;
  gone_generation[c] = claims[by];
#endif
  skip
}

/* ---- The mistakes that can be built in, a line each ---- */

#ifdef SABOTAGE_SPENT           /* G3: a token that is closed is taken for a fresh one */
#define IS_OPEN(s) (token[s] == ISSUED || token[s] == CLOSED)
#else
#define IS_OPEN(s) (token[s] == ISSUED)
#endif
#ifdef SABOTAGE_READY           /* G1: nobody waits, neither for what it rests on nor for the resource, which alone would do */
#define IS_READY(s) true
#define SABOTAGE_BUSY
#else
#define IS_READY(s) (rests[s] == 0 || token[rests[s]] == CLOSED)
#endif
#ifdef SABOTAGE_DONE            /* G1: a command whose last frame is out counts as done */
#define IS_SHOWN true
#else
#define IS_SHOWN flying
#endif
#ifdef SABOTAGE_HOLDS           /* G1: completed once is completed for ever */
#define IS_LOST(s) false
#else
#define IS_LOST(s) (rests[s] != 0 && !flying)
#endif
#ifdef SABOTAGE_CLOSURE         /* G1: retained beside a prerequisite that is not */
#define FALLS false
#else
#define FALLS (BRINGS(k, TAKEOFF) && !takes)
#endif
#ifdef SABOTAGE_BUSY            /* HELD: the resource is not asked */
#define IS_BUSY false
#else
#define IS_BUSY (holder != FREE && holder != HANDOVER)
#endif
#ifdef SABOTAGE_GENERATION      /* G3: a redelivered packet is news */
#define IS_FRESH(p) true
#else
#define IS_FRESH(p) (claims[p] > generation)
#endif
#ifdef SABOTAGE_SESSION         /* G3: snapshots are named by number alone */
#define IS_KNOWN(p) (cites[p] <= newest)
#else
#define IS_KNOWN(p) (by_session[p] == session)
#endif
#ifdef SABOTAGE_SCOPE           /* G4: whatever a recovery brings is in scope */
#define COVERS(o, c) true
#else
#define COVERS(o, c) ((missing[o] & MASK(c)) != 0)
#endif
#ifdef SABOTAGE_EVIDENCE        /* G4: the evidence that failed may be cited again */
#define IS_NEWER(p, o, c) true
#else
#define IS_NEWER(p, o, c) (!(missing[o] & MASK(c)) || cites[p] > opened[o])
#endif
#ifdef SABOTAGE_ANY             /* G4: of two obligations that cover it, newer than either will do */
#define BOTH ||
#define IS_COVERED_NEWER(p, o, c) ((missing[o] & MASK(c)) && cites[p] > opened[o])
#else
#define BOTH &&
#define IS_COVERED_NEWER(p, o, c) IS_NEWER(p, o, c)
#endif
#ifdef SABOTAGE_WIDEN           /* G4: what is withdrawn into an older obligation does not make that newer */
#define WIDENED(o) opened[o]
#else
#define WIDENED(o) newest
#endif
#ifdef SABOTAGE_ABANDON         /* PILOT: a contingency goes on against the pilot */
#define GOES_ON (holder == CONTINGENCY)
#define MAY_STOP true
#else
#define GOES_ON false
#define MAY_STOP (seen == OURS)
#endif

/* ---- Ends and losses (src/engine/plan/lifecycle.ts, obligation.ts) ---- */

/* No crossing any more, and no further frame. */
inline end(s) {
  observe_end(s);
  token[s] = REVOKED
}

/* Opens the obligation of c, or updates it. */
inline oblige(c, scope) {
  opened[c] = newest;
  missing[c] = missing[c] | (scope)
}

/* A denial, a failure or an expiry: an uncrossed dependent is withdrawn into the same obligation. */
inline lose(s) {
  end(s);
  if
  :: plan_of[s] == plan ->
     fell = 0;
     if
     :: member[GOTO] != 0 && rests[member[GOTO]] == s && token[member[GOTO]] == ISSUED ->
        end(member[GOTO]);
        observe_loss(GOTO, packet[member[GOTO]]);
        fell = MASK(GOTO)
     :: else
     fi;
     observe_loss(id[s], packet[s]);
     oblige(id[s], MASK(id[s]) | fell);
     fell = 0
  :: else               /* a command that outlived its plan */
  fi
}

/* The holder's lease ends without being done. Before the mode command a setpoint has moved nothing. */
inline fail() {
  lose(holder);
  holder = (id[holder] == GOTO && stage == 1 -> FREE : CONTINGENCY);
  stage = 0
}

/* ---- The gate (PROTOCOL 7; assembly/gate.ts) and the crossing (src/engine/dispatch/dispatch.ts) ---- */

/* A frame leaves in the step of the verdict; or the link is lost, or the process crashes before. */
inline leave(s) {
  if
  :: fate == CRASHED -> SEE(true, 5); crashed = 1
  :: fate == LOST
  :: else -> observe_frame(s); frames = 1
  fi
}

/* What speaks first decides. An offer of a token that is spent changes nothing (G3). */
inline offer(s) {
  if
  :: !IS_OPEN(s)
  :: else ->
     if
     :: plan_of[s] != plan || pilot_control -> lose(s)
     :: else ->
        if
        :: rests[s] != 0 && token[rests[s]] == REVOKED -> lose(s)   /* prerequisite_failed */
        :: else ->
           if
           :: !IS_READY(s) || IS_BUSY                               /* deferred */
           :: else ->
              if
              :: seen != OURS || IS_LOST(s) || !supported -> lose(s)
              :: else -> cross(s)
              fi
           fi
        fi
     fi
  fi
}

inline cross(s) {
  token[s] = LEASED;
  leave(s);
  if
  :: frames -> observe_crossing(s); holder = s; stage = 1
  :: else -> lose(s)
  fi
}

/* ---- The lease under way (PROTOCOL 8; src/engine/dispatch/lease.ts) ---- */

#define IS_LEASE (holder != FREE && holder <= SEQUENCES)
#define IS_DONE (stage == 2 && fate != IDLE && (id[holder] == GOTO -> fate == ADVANCED : IS_SHOWN))
#define IS_DENIED (token[holder] != LEASED || pilot_control || IS_LOST(holder) || !supported || (stage == 1 && seen != OURS))

inline complete() {
#ifdef G1
  completed = (id[holder] == TAKEOFF && flying -> completed | MASK(holder) : completed);
#endif
  observe_end(holder);
  token[holder] = CLOSED;
  holder = HANDOVER;
  stage = 0
}

/* `done`, then the checks of the frame, then the frame if it is due. */
inline judge() {
  if
  :: IS_DONE -> complete()
  :: else ->
     if
     :: IS_DENIED ->
#ifdef SABOTAGE_DENIAL          /* DENIED: a denial is said, and the stream goes on */
        observe_end(holder);
        leave(holder)
#else
        fail()
#endif
     :: else ->
        if
        :: fate == IDLE
        :: fate == FAILED -> fail()
        :: else ->
           leave(holder);
           if
           :: !frames -> fail()
           :: frames && fate == ADVANCED -> stage = 2
           :: else
           fi
        fi
     fi
  fi
}

inline advance_contingency() {
  if
  :: fate > SENT -> holder = FREE       /* shown, or nothing is left to try */
  :: fate == SENT && MAY_STOP ->
#ifdef PILOT
     assert(!pilot);            /* its frame leaves */
#endif
     skip
  :: else
  fi
}

/* ---- The pilot (src/engine/vehicle/takeover.ts) ---- */

/* Every lease ends, nothing more is owed, and the latch is journalled. */
inline judge_takeover() {
  if
  :: seen == PILOTS ->
     pilot_control = 1;
     if
     :: IS_LEASE -> SEE(stage == 2, 4); lose(holder)
     :: else
     fi;
     stage = 0;
     holder = (GOES_ON -> holder : FREE)
  :: else
  fi
}

/* ---- What follows any input, in this order (src/engine/runtime.ts) ---- */

inline settle() {
#ifndef SABOTAGE_ORDER          /* PILOT: the pilot is noticed behind the frames of a step */
  judge_takeover();
#endif
  if
  :: orphan && seen != UNKNOWN ->
     orphan = 0;
     holder = (fate == ADVANCED && !pilot_control -> CONTINGENCY : holder)
  :: else
  fi;
  if
  :: IS_LEASE -> judge()
  :: else
  fi;
  if
  :: holder == CONTINGENCY -> advance_contingency()
  :: else
  fi;
  for (k : 1 .. sequences) {
    if
    :: token[k] == ISSUED -> offer(k)
    :: else
    fi
  };
#ifdef SABOTAGE_ORDER
  judge_takeover();
#endif
  holder = (holder == HANDOVER -> CONTINGENCY : holder)    /* `then`, or what a superseded lease owes */
}

/* ---- Admission (PROTOCOL 4 and 5; src/engine/intake/reception.ts, batch.ts, admission.ts; assembly/admission.ts) ---- */

#define IN_SCOPE(p, c) (recovers[p] == 0 || ((COVERS(TAKEOFF, c) || COVERS(GOTO, c)) && \
                        (IS_COVERED_NEWER(p, TAKEOFF, c) BOTH IS_COVERED_NEWER(p, GOTO, c))))
#define BRINGS(p, c) ((parts[p] & (MASK(c) | BAD(c))) != 0)
#define IS_BAD(p, c) ((parts[p] & BAD(c)) != 0)
#define STANDS(s) (token[s] != NONE && token[s] != REVOKED)

/* A plan starts. Of the old one only a command under way goes on; a setpoint leaves its resource to the new plan. */
inline supersede(p) {
  if
  :: token[member[TAKEOFF]] == ISSUED -> end(member[TAKEOFF])
  :: else
  fi;
  if
  :: token[member[GOTO]] == ISSUED -> end(member[GOTO])
  :: else
  fi;
  if
  :: IS_LEASE && id[holder] == GOTO ->
     end(holder);
     holder = (stage == 1 -> FREE : HANDOVER);
     stage = 0
  :: else
  fi;
  forget_plan();
  plan = p
}

inline forget_plan() {
  plan = 0;
  member[TAKEOFF] = 0; member[GOTO] = 0;
  missing[TAKEOFF] = 0; missing[GOTO] = 0;
  opened[TAKEOFF] = 0; opened[GOTO] = 0;
#ifdef G4
  gone = 0;
  gone_snapshot[TAKEOFF] = 0; gone_snapshot[GOTO] = 0;
  gone_generation[TAKEOFF] = 0; gone_generation[GOTO] = 0;
#endif
  skip
}

/* What it replaces loses its token; a lease goes on. */
inline retain(p, c, prerequisite) {
  if
  :: token[member[c]] == ISSUED -> end(member[c])
  :: else
  fi;
  sequences++;
  packet[sequences] = p;
  id[sequences] = c;
  plan_of[sequences] = plan;
  rests[sequences] = prerequisite;
  token[sequences] = ISSUED;
  member[c] = sequences;
  observe_retained(sequences);
  missing[TAKEOFF] = missing[TAKEOFF] & ~MASK(c);
  missing[GOTO] = missing[GOTO] & ~MASK(c);
  opened[TAKEOFF] = (missing[TAKEOFF] != 0 -> opened[TAKEOFF] : 0);
  opened[GOTO] = (missing[GOTO] != 0 -> opened[GOTO] : 0)
}

/* The take-off is replaced and the goto that rests on the old one is not: into the obligation that the new one answers. */
inline withdraw() {
  end(member[GOTO]);
  observe_loss(GOTO, packet[member[GOTO]]);
  if
  :: missing[TAKEOFF] & MASK(TAKEOFF) ->
     missing[TAKEOFF] = missing[TAKEOFF] | MASK(GOTO);
     opened[TAKEOFF] = WIDENED(TAKEOFF)
  :: else ->
     missing[GOTO] = missing[GOTO] | MASK(GOTO);
     opened[GOTO] = WIDENED(GOTO)
  fi
}

/* Packet k. Both components are judged before either is retained: the greatest fixed point of two. */
inline receive() {
  if
  :: !IS_KNOWN(k) || !IS_FRESH(k) || (recovers[k] != 0 && recovers[k] != plan) || sequences + 2 > SEQUENCES
  :: else ->
     said = (k > said -> k : said);
     generation = claims[k];
     if
     :: recovers[k] == 0 -> supersede(k)
     :: else
     fi;
     /* The graph is over ids: what the response brings stands for what the plan had. */
     on = member[TAKEOFF];
     takes = BRINGS(k, TAKEOFF) && !IS_BAD(k, TAKEOFF) && IN_SCOPE(k, TAKEOFF) && supported && !pilot_control;
     if
     :: BRINGS(k, TAKEOFF) && !takes && (IS_BAD(k, TAKEOFF) || IN_SCOPE(k, TAKEOFF)) -> roots = MASK(TAKEOFF)
     :: else
     fi;
     if
     :: !BRINGS(k, GOTO)
     :: BRINGS(k, GOTO) ->
        if
        :: IS_BAD(k, GOTO) || (!BRINGS(k, TAKEOFF) && !STANDS(on)) -> roots = roots | MASK(GOTO)
        :: else ->
           if
           :: !IN_SCOPE(k, GOTO)
           :: else ->
              goes = supported && !pilot_control && (BRINGS(k, TAKEOFF) || token[on] != CLOSED || flying);
              roots = (goes -> roots : roots | MASK(GOTO))
           fi
        fi
     fi;
     if
     :: goes && FALLS ->               /* prerequisite_withheld */
        goes = 0;
        fell = (roots != 0 -> MASK(GOTO) : 0)
     :: else
     fi;
     if
     :: takes ->
        if
        :: !goes && on != 0 && token[member[GOTO]] == ISSUED && rests[member[GOTO]] == on -> withdraw()
        :: else
        fi;
        retain(k, TAKEOFF, 0);
        on = sequences
     :: else
     fi;
     if
     :: goes -> retain(k, GOTO, on)
     :: else
     fi;
     if
     :: roots & MASK(TAKEOFF) ->
        observe_loss(TAKEOFF, k);
        oblige(TAKEOFF, MASK(TAKEOFF) | fell)
     :: else
     fi;
     if
     :: fell != 0 || (roots & MASK(GOTO)) -> observe_loss(GOTO, k)
     :: else
     fi;
     if
     :: roots & MASK(GOTO) -> oblige(GOTO, MASK(GOTO))
     :: else
     fi;
     takes = 0; goes = 0; on = 0; roots = 0; fell = 0
  fi;
  if
  :: k > said ->                       /* refused: it might as well be said later */
     by_session[k] = 0; cites[k] = 0; claims[k] = 0; recovers[k] = 0; parts[k] = 0
  :: else
  fi
}

/* ---- Sessions (PROTOCOL 11) ---- */

/* All is forgotten but the journal. After a trap it is known what is owed; a fresh process looks at the vehicle. */
inline renew(trapped) {
  session++;
#ifdef DENIED
  for (k : 1 .. sequences) { dead = dead | KEY(k) };
#endif
#ifdef SABOTAGE_LEASES          /* DENIED: a lease outlives its session */
  holder = ((trapped) -> holder : FREE);
#else
  holder = ((trapped) && !(IS_LEASE && id[holder] == GOTO && stage == 1) && holder != FREE -> CONTINGENCY : FREE);
  stage = 0;
#ifdef SABOTAGE_LEDGER          /* G3: a ledger on disk, written behind the send, as it was before it */
  for (k : 1 .. sequences) { token[k] = (token[k] == LEASED -> ISSUED : token[k]) };
#else
  for (k : 1 .. sequences) { token[k] = NONE; packet[k] = 0; id[k] = 0; plan_of[k] = 0; rests[k] = 0 };
  sequences = 0;
  forget_plan();
#endif
#endif
  orphan = !(trapped);
  newest = 1; generation = 0;
  supported = 0; flying = 0; seen = UNKNOWN;
#ifdef SABOTAGE_LATCH           /* PILOT: the latch is not journalled */
  pilot_control = 0;
#endif
#ifdef G1
  completed = 0;
#endif
#ifdef G4
  last_sequence = 0;
#endif
#ifdef HELD
  under_way = 0;
#endif
  skip
}

/* ---- One input at a time, and all that follows from it ---- */

active proctype Engine() {
  byte c;
  do
  :: atomic {
       if
       :: said < PACKETS ->                     /* the agent: what it can say, and what is not refused as a whole */
          k = said + 1;
          by_session[k] = session;
          claims[k] = generation + 1;
          if
          :: cites[k] = newest
          :: plan != 0 -> select (c : 1 .. newest); cites[k] = c; c = 0; recovers[k] = plan
          fi;
          if
          :: parts[k] = MASK(TAKEOFF)
          :: parts[k] = MASK(GOTO)
          :: parts[k] = MASK(TAKEOFF) | MASK(GOTO)
          :: parts[k] = BAD(TAKEOFF)
          :: parts[k] = BAD(GOTO)
          :: parts[k] = BAD(TAKEOFF) | MASK(GOTO)
          fi;
          input = PACKET;
          if
          :: fate = SENT
          :: fate = LOST
          :: session < SESSIONS -> fate = CRASHED
          fi
       :: said > 0 ->                           /* the broker: what was said, again */
          select (k : 1 .. said);
          input = PACKET
       :: sequences > 0 ->                      /* a retry: any token is offered */
          select (k : 1 .. sequences);
          input = RETRY
       :: holder != FREE || orphan ->           /* a tick */
          if
          :: fate = SENT
          :: fate = ADVANCED
          :: IS_LEASE -> fate = FAILED
          :: fate = LOST
          :: session < SESSIONS -> fate = CRASHED
          fi
       :: supported = !supported                /* the world */
       :: flying = !flying
       :: newest < SNAPSHOTS -> newest++
       :: seen != OURS -> seen = OURS
       :: seen != UNKNOWN -> seen = UNKNOWN     /* silence */
       :: seen == UNKNOWN || seen == OURS ->    /* the pilot; and a frame is due in that very step */
          seen = PILOTS;
          fate = SENT;
#ifdef PILOT
          pilot = 1
#endif
       :: pilot_control ->                      /* operator/resume */
          pilot_control = 0;
          seen = (seen == PILOTS -> CONCEDED : seen);
#ifdef PILOT
          pilot = 0
#endif
       :: session < SESSIONS -> input = CRASH   /* between two steps */
       :: session < SESSIONS -> input = TRAP    /* or operator/restart */
       fi;
       skip;
       d_step {
         if
         :: input == PACKET -> receive()
         :: input == RETRY -> offer(k)
         :: else
         fi;
         if
         :: input == CRASH || input == TRAP -> crashed = 1
         :: else -> settle()
         fi;
         if
         :: crashed -> renew(input == TRAP)
         :: else
         fi;
         input = 0; k = 0; frames = 0; fate = 0; crashed = 0
       }
     }
  od
}
