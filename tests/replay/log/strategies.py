"""What hypothesis makes determinants from."""

from hypothesis import strategies as st

from replay.log.determinants import (
    CALLBACKS,
    CHECKPOINT_TYPES,
    INTERNAL_PREFIX,
    BufferBuilt,
    IgnoreCheckpoint,
    Order,
    Rng,
    Serializable,
    SourceCheckpoint,
    Take,
    TimerTrigger,
    Timestamp,
)

int32 = st.integers(-(1 << 31), (1 << 31) - 1)
uint32 = st.integers(0, (1 << 32) - 1)
int64 = st.integers(-(1 << 63), (1 << 63) - 1)
internal_names = st.text(max_size=20).filter(lambda text: text.isprintable()).map(INTERNAL_PREFIX.__add__)

determinants = st.one_of(
    st.builds(Order, st.integers(0, 255)),
    st.builds(Timestamp, int64),
    st.builds(Rng, int32),
    st.builds(Serializable.of, st.integers(0, 3), st.binary(max_size=40)),
    st.builds(TimerTrigger, int32, int64, st.sampled_from(CALLBACKS) | internal_names),
    st.builds(
        SourceCheckpoint,
        int32,
        int64,
        int64,
        st.sampled_from(CHECKPOINT_TYPES),
        st.none() | st.binary(max_size=40),
    ),
    st.builds(IgnoreCheckpoint, int32, int64),
    st.builds(BufferBuilt, int32),
    st.builds(Take, uint32, int64, uint32),
)
