"""Topics of librdkafka's test broker for Quix Streams: it makes them when they are asked for, and tells no settings."""

from quixstreams.models.topics import TopicAdmin, TopicManager
from quixstreams.models.topics.topic import TopicConfig

# Those of Kafka.
_DEFAULTS = {"retention.ms": "604800000", "retention.bytes": "-1"}


class MetadataAlone(TopicAdmin):
    """How many partitions a topic has is all that is known of it."""

    def inspect_topics(self, topic_names, timeout=30):
        found = {name: self.admin_client.list_topics(name, timeout=timeout).topics[name] for name in topic_names}
        return {name: TopicConfig(len(topic.partitions), 1, dict(_DEFAULTS)) for name, topic in found.items()}


def topics_of(broker: str, group: str) -> TopicManager:
    return TopicManager(topic_admin=MetadataAlone(broker_address=broker), consumer_group=group)
